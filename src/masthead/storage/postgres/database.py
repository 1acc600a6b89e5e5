"""PostgreSQL through an asyncpg pool, with row-level security in addition to the tenant filter.

Each connection has its scope in the setting `masthead.tenant`, which the policies of `row_security`
compare. The setting outlives a transaction, so that it takes a round trip only when a connection
changes tenants. Behind a pooler (`connections`), it is set with each transaction, and a read is a
transaction too.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, TypeVar

import asyncpg
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql.base import PGDialect
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.sql import ClauseElement, Insert

from masthead.base.errors import DiskFull, StatementTimeout, Unavailable
from masthead.storage import dialects
from masthead.storage.cancelling import complete
from masthead.storage.database import (
    EVERY_TENANT,
    MAX_BYTES,
    PROVEN_SECONDS,
    Deferral,
    ForeignKeyViolation,
    LazyStatement,
    Row,
    RowsTooLarge,
    Scope,
    SizedRows,
    Statement,
    Transaction,
    UniqueViolation,
)
from masthead.storage.deferred import Deferred
from masthead.storage.dialects import compile_statement
from masthead.storage.disk import DiskState
from masthead.storage.fair_share import FairShare
from masthead.storage.postgres import notifications
from masthead.storage.postgres.connections import Connecting, Connection
from masthead.storage.postgres.notifications import Notifications, notify_and_commit

# The base dialect, not a driver's: drivers' dialects cast every parameter (`$1::INTEGER`), which
# narrows 64-bit numbers. The server infers the right type from the compared column.
POSTGRESQL: Dialect = PGDialect(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]

POOL_SIZE = 10
CONNECT_SECONDS = 5.0
"""For acquiring a connection from the pool, and for opening one."""
IDLE_SECONDS = 30.0
"""Between two statements of a transaction, which does nothing that takes as long. The server ends
that of a process which hangs or was cut off, because it would hold the locks of its site."""
TRANSACTION_SECONDS = 120.0
"""A whole transaction may take as long, from PostgreSQL 17 on: a process may also hang between the
two messages of a statement that is new to its connection, which the server does not call idle."""
PING_SECONDS = 1.5
BATCH_ROWS = 500
"""Per round trip, which has to end within the statement timeout."""

_CLOSE_SECONDS = 10.0

Result = TypeVar("Result")


async def open_postgres(
    url: str,
    *,
    statement_seconds: float = 5.0,
    idle_seconds: float = IDLE_SECONDS,
    transaction_seconds: float = TRANSACTION_SECONDS,
    pool_size: int = POOL_SIZE,
) -> PostgresDatabase:
    settings = {
        "statement_timeout": str(int(statement_seconds * 1000)),
        "idle_in_transaction_session_timeout": str(int(idle_seconds * 1000)),
        "jit": "off",
        # As for solid-state disks. By the default, made for spinning ones, a search for a word
        # that few texts have reads all texts in the order of the list.
        "random_page_cost": "1.1",
    }
    since_17 = {"transaction_timeout": str(int(transaction_seconds * 1000))}
    pool = await asyncpg.create_pool(
        url,
        # No connection is opened yet: the service has to start even when the server is down.
        min_size=0,
        max_size=pool_size,
        connect=Connecting(settings, since_17).connect,
        connection_class=Connection,
        reset=_skip_reset,
        timeout=CONNECT_SECONDS,
        # A server that hangs can't enforce its own limit.
        command_timeout=statement_seconds + CONNECT_SECONDS,
    )
    return PostgresDatabase(pool, url, reads_per_tenant=max(pool_size * 2 // 3, 1))


class PostgresDatabase:
    name = "postgresql"
    has_one_writer = False

    def __init__(self, pool: Any, url: str, *, reads_per_tenant: int) -> None:
        self._pool = pool
        self._url = url
        self._share = FairShare(reads_per_tenant)
        self._indexes: dict[str, tuple[str, ...]] = {}
        self._disk = DiskState()
        self._answered_at = -math.inf
        size = sa.func.pg_database_size(sa.func.current_database())
        self._size = self.compile(sa.select(size))

    def compile(self, statement: ClauseElement, counted: Sequence[str] = ()) -> Statement:
        def compile_now() -> Statement:
            if not counted:
                return compile_statement(statement, POSTGRESQL)
            assert isinstance(statement, sa.Select)
            compiled = compile_statement(_limited_by_size(statement, counted), POSTGRESQL)
            return replace(compiled, counted=(-1,))

        return LazyStatement(compile_now)

    def compile_both(self, first: Insert, second: Insert) -> Statement:
        return self.compile(first.add_cte(second.cte("second")))

    def list_value(self, values: Sequence[object]) -> object:
        return list(values)

    def data_version(self) -> int | None:
        return None

    async def fetch(
        self,
        scope: Scope,
        statement: Statement,
        values: Sequence[object] = (),
        *,
        slow: bool = False,  # of no use here: the server has its own processes
        max_bytes: int | None = None,
    ) -> list[Row]:
        try:
            await self._share.enter(scope, CONNECT_SECONDS)
        except TimeoutError as error:
            raise Unavailable from error
        try:
            async with self._connection(scope) as connection:
                rows = await self._read(connection, scope, statement, values)
        finally:
            self._share.leave(scope)
        if max_bytes is None or not statement.counted or not rows:
            return rows
        size = rows[-1][-1]
        if size > max_bytes:
            raise RowsTooLarge
        return SizedRows(rows, size)

    @asynccontextmanager
    async def transaction(self, scope: Scope) -> AsyncIterator[Transaction]:
        async with self._connection(scope) as connection:
            try:
                async with self._transaction(connection, scope) as transaction:
                    yield transaction
            except StatementTimeout as error:
                # It has waited for a lock, for example of a process that was cut off: the caller
                # has sent nothing wrong, and may try again.
                raise Unavailable from error
            self._disk.note_written()

    async def listen(self, heard: Callable[[str], None]) -> Notifications | None:
        return await notifications.listen(self._url, heard)

    def connections(self) -> tuple[int, int]:
        return self._pool.get_size(), self._pool.get_idle_size()

    async def count_bytes(self) -> int:
        ((found,),) = await self.fetch(EVERY_TENANT, self._size, slow=True)
        return int(found)

    async def ping(self) -> None:
        if time.monotonic() - self._answered_at >= PROVEN_SECONDS:
            await self._ask()
        if self._disk.is_full:
            raise DiskFull

    async def close(self) -> None:
        try:
            await asyncio.wait_for(self._pool.close(), _CLOSE_SECONDS)
        except FAILURES:
            self._pool.terminate()

    async def _ask(self) -> None:
        try:
            async with asyncio.timeout(PING_SECONDS):
                lease = await self._acquire()
                connection = lease.unwrapped()
                try:
                    await connection.execute("SELECT 1")
                except BaseException:
                    # Otherwise the release would wait for the server once more.
                    connection.terminate()
                    raise
                finally:
                    await self._release(lease)
        except FAILURES as error:
            raise Unavailable from error
        self._answered_at = time.monotonic()

    async def run(self, connection: Any, work: Awaitable[Any]) -> Any:
        """Awaits `work` on the connection and translates its errors."""
        try:
            done = await work
        except FAILURES as error:
            raise await self._translate(connection, error) from error
        self._answered_at = time.monotonic()
        return done

    async def _read(
        self, connection: Connection, scope: Scope, statement: Statement, values: Sequence[object]
    ) -> list[Row]:
        if connection.is_pooled:
            async with self._transaction(connection, scope) as transaction:
                return await transaction.fetch(statement, values)
        rows: list[Row] = await self.run(connection, connection.fetch(statement.text, *values))
        return rows

    @asynccontextmanager
    async def _transaction(
        self, connection: Connection, scope: Scope
    ) -> AsyncIterator[PostgresTransaction]:
        transaction = PostgresTransaction(self, connection)
        try:
            # Not cancelled half-way: the next user would get an open transaction.
            await complete(transaction.begin(scope))
            yield transaction
            transaction.check()
            await complete(transaction.commit())
        except BaseException:
            await complete(transaction.roll_back())
            raise
        finally:
            transaction.end()

    @asynccontextmanager
    async def _connection(self, scope: Scope) -> AsyncIterator[Connection]:
        lease = await self._acquire()
        # The connection itself: its proxy in the pool drops a broken connection and its state.
        connection: Connection = lease.unwrapped()
        try:
            if not connection.is_pooled and connection.scope != scope:
                await self.run(connection, connection.enter(scope))
            yield connection
        except BaseException:
            # The next user of the connection has to set the scope again.
            connection.scope = None
            raise
        finally:
            await self._release(lease)

    async def _acquire(self) -> Any:
        try:
            return await self._pool.acquire(timeout=CONNECT_SECONDS)
        except FAILURES as error:
            raise Unavailable from error

    async def _release(self, lease: Any) -> None:
        # If it breaks here, asyncpg discards it; the work is done.
        with suppress(*FAILURES):
            await self._pool.release(lease, timeout=CONNECT_SECONDS)

    async def _translate(self, connection: Any, error: Exception) -> Exception:
        """The storage-level error, or the error itself when it is a programming error."""
        if isinstance(error, asyncpg.UniqueViolationError):
            columns = await self._columns_of(connection, error.constraint_name)
            return UniqueViolation(error.table_name, columns)
        if isinstance(error, asyncpg.ForeignKeyViolationError | asyncpg.RestrictViolationError):
            return ForeignKeyViolation(str(error))
        if isinstance(error, asyncpg.QueryCanceledError):
            return StatementTimeout()
        if isinstance(error, asyncpg.InternalClientError):
            # When the server ends an idle connection, asyncpg waits for the rest of an error. It
            # refuses statements, but the pool would keep such a connection.
            connection.terminate()
        if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
            # A primary that has become a standby. The next connection finds the new primary.
            connection.terminate()
        if isinstance(error, asyncpg.DiskFullError):
            self._disk.note_full(error)
            return DiskFull()
        if isinstance(error, _TRANSIENT) or connection.is_closed():
            self._answered_at = -math.inf
            return Unavailable()
        return error

    async def _columns_of(self, connection: Any, index: str) -> tuple[str, ...]:
        # From the catalogue: under row-level security the error does not contain the key.
        if index not in self._indexes:
            # The failed transaction accepts no further statement. In one of its own, for a pooler.
            await self.run(connection, connection.execute("ROLLBACK; BEGIN"))
            rows = await self.run(connection, connection.fetch(_INDEX_COLUMNS, index))
            await self.run(connection, connection.execute("ROLLBACK"))
            self._indexes[index] = tuple(row[0] for row in rows)
        return self._indexes[index]


def _limited_by_size(query: sa.Select[Any], counted: Sequence[str]) -> sa.Select[Any]:
    """The rows until their counted columns exceed `MAX_BYTES`, including the first row beyond it.
    The last column has the running total of bytes; the order stays."""
    rows = query.subquery("rows")
    size = sum((_stored_bytes(rows.c[name]) for name in counted), sa.literal_column("0"))
    sized = sa.select(
        *rows.c,
        sa.cast(size, sa.BigInteger).label("own_bytes"),
        sa.cast(sa.func.sum(size).over(rows=(None, 0)), sa.BigInteger).label("all_bytes"),
    ).subquery("sized")
    limit = sa.bindparam(MAX_BYTES, required=True, type_=sa.BigInteger())
    return sa.select(*(sized.c[column.name] for column in rows.c), sized.c.all_bytes).where(
        sized.c.all_bytes - sized.c.own_bytes <= limit
    )


def _stored_bytes(column: sa.ColumnElement[Any]) -> sa.ColumnElement[int]:
    """The length of a text is stored with it, so the text is not read. That of a compressed JSON
    document is not stored, so the document has to be decompressed."""
    if not isinstance(column.type, dialects.Json):
        return sa.func.coalesce(sa.func.octet_length(column), 0)
    is_plain = sa.func.pg_column_compression(column).is_(None)
    written = sa.func.octet_length(sa.cast(column, sa.Text))
    size = sa.case((is_plain, sa.func.pg_column_size(column)), else_=written)
    return sa.func.coalesce(size, 0)


_INDEX_COLUMNS = """
SELECT pg_get_indexdef(i.indexrelid, position, true)
FROM pg_index i
JOIN pg_class c ON c.oid = i.indexrelid AND c.relnamespace = current_schema()::regnamespace
CROSS JOIN generate_series(1, i.indnkeyatts) AS position
WHERE c.relname = $1
ORDER BY position
"""


class PostgresTransaction:
    def __init__(self, database: PostgresDatabase, connection: Any) -> None:
        self._database = database
        self._connection = connection
        self._deferred = Deferred()
        self._failure: Exception | None = None
        self._news = ""

    async def begin(self, scope: Scope) -> None:
        await self._run(self._connection.execute(self._connection.opening(scope)))

    async def commit(self) -> None:
        if self._deferred:
            await self._write_deferred()
        commit = notify_and_commit(self._news) if self._news else "COMMIT"
        await self._run(self._connection.execute(commit))

    async def roll_back(self) -> None:
        try:
            await self._connection.execute("ROLLBACK")
        except FAILURES:
            self._connection.terminate()

    def end(self) -> None:
        # The connection goes back to the pool.
        self._failure = RuntimeError("the transaction has ended")

    def check(self) -> None:
        # PostgreSQL answers COMMIT after a failed statement by rolling back, without an error.
        if self._failure is not None:
            raise self._failure

    async def fetch(self, statement: Statement, values: Sequence[object] = ()) -> list[Row]:
        await self._ready_for(statement)
        rows: list[Row] = await self._run(self._connection.fetch(statement.text, *values))
        return rows

    async def execute(
        self,
        statement: Statement,
        values: Sequence[object] = (),
        *,
        slow: bool = False,  # of no use here: the server has its own processes
    ) -> int:
        await self._ready_for(statement)
        status: str = await self._run(self._connection.execute(statement.text, *values))
        return int(status.rpartition(" ")[2])

    async def execute_many(self, statement: Statement, rows: Sequence[Sequence[object]]) -> None:
        await self._ready_for(statement)
        await self._run(self._connection.executemany(statement.text, rows))

    async def avoid_sorting(self) -> None:
        self.check()
        await self._run(self._connection.execute("SET LOCAL enable_sort = off"))

    def notify(self, text: str) -> None:
        self._news = text

    def defer(self, *deferrals: Deferral) -> None:
        self.check()
        self._deferred.add(deferrals)

    async def _ready_for(self, statement: Statement) -> None:
        self.check()
        if self._deferred.affects(statement):
            await self._write_deferred()

    async def _write_deferred(self) -> None:
        for statement, rows in self._deferred.take().batches():
            for start in range(0, len(rows), BATCH_ROWS):
                some = rows[start : start + BATCH_ROWS]
                await self._run(self._connection.executemany(statement.text, some))

    async def _run(self, work: Awaitable[Any]) -> Any:
        try:
            return await self._database.run(self._connection, work)
        except Exception as error:
            self._failure = error
            raise


async def _skip_reset(_connection: Any) -> None:
    """Replaces asyncpg's reset, which takes a round trip and drops the role and the scope."""


FAILURES = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
)

# A retry may succeed: the server is down, starting, stopping, full or failing over, or there was a
# conflict with another transaction.
_TRANSIENT = (
    OSError,
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    asyncpg.TransactionRollbackError,
    asyncpg.LockNotAvailableError,
    asyncpg.InsufficientResourcesError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.InvalidCachedStatementError,
    asyncpg.ReadOnlySQLTransactionError,
)
