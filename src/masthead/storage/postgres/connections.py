"""Connections to PostgreSQL, directly or through a pooler such as PgBouncer.

Behind a pooler in transaction mode, a connection has a server only for the length of a
transaction: the next one may run on another, and what a session would keep (settings, the role,
prepared statements) belongs to whoever comes next. So a pooled connection sets everything again at
the beginning of each transaction, in the same round trip, and prepares nothing. A direct connection
sets it once.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import asyncpg

from masthead.base.errors import Unavailable
from masthead.storage.database import Scope
from masthead.storage.postgres.row_security import ROLE

PREPARED_STATEMENTS = 512
_APPLICATION = {"application_name": "masthead"}
_PROCESS = secrets.token_hex(6)


class Connection(asyncpg.Connection):  # type: ignore[misc]
    """A connection that knows what its server side has set."""

    __slots__ = ("is_pooled", "needs_role", "scope", "settings")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.scope: Scope | None = None
        """The scope that a direct connection has set; None if it is not known."""
        self.is_pooled = False
        self.needs_role = False
        """Whether the user bypasses row-level security."""
        self.settings = ""
        """The statements that a pooled connection repeats in each transaction."""

    async def enter(self, scope: Scope) -> None:
        """For a direct connection: the scope of all following statements."""
        self.scope = None  # unknown until the server has answered
        await self.execute("SELECT set_config('masthead.tenant', $1, false)", scope)
        self.scope = scope

    def opening(self, scope: Scope) -> str:
        """The statements that begin a transaction."""
        if not self.is_pooled:
            return "BEGIN"
        tenant = scope.replace("'", "''")
        return f"BEGIN; {self.settings}SET LOCAL masthead.tenant = '{tenant}'"

    def unwrapped(self) -> Connection:
        return self

    def _get_unique_id(self, prefix: str) -> str:
        # A statement that stays behind on a pooler's server must not have the name of another
        # process's. asyncpg only counts.
        return f"{super()._get_unique_id(prefix)}{_PROCESS}"


@contextmanager
def closed_on_failure(connection: Connection) -> Iterator[None]:
    """Until a new connection is handed over, nobody else could close it: also if the task that
    opens it is cancelled."""
    with ExitStack() as on_failure:
        on_failure.callback(connection.terminate)
        yield
        on_failure.pop_all()


class Connecting:
    """How a pool opens its connections. The first one finds out whether there is a pooler."""

    def __init__(self, settings: dict[str, str], since_17: dict[str, str]) -> None:
        self._settings = settings
        self._since_17 = since_17
        """Those that a server before PostgreSQL 17 does not know."""
        self._is_pooled: bool | None = None

    async def connect(self, *args: Any, **kwargs: Any) -> Connection:
        if self._is_pooled is None:
            self._is_pooled = await self._find_pooler(*args, **kwargs)
        if self._is_pooled:
            return await self._connect_pooled(*args, **kwargs)
        return await self._connect_directly(*args, **kwargs)

    async def _find_pooler(self, *args: Any, **kwargs: Any) -> bool:
        connection = await _open(*args, **kwargs)
        try:
            return await is_pooled(connection)
        finally:
            connection.terminate()

    async def _connect_directly(self, *args: Any, **kwargs: Any) -> Connection:
        connection: Connection = await asyncpg.connect(
            *args,
            **kwargs,
            statement_cache_size=PREPARED_STATEMENTS,
            server_settings=_APPLICATION | self._settings,
        )
        with closed_on_failure(connection):
            for name, value in self._known(connection).items():
                await connection.execute(f"SET {name} = '{value}'")
            connection.needs_role = await connection.fetchval(BYPASSES_POLICIES)
            if connection.needs_role:
                await _take_role(connection, f"SET ROLE {ROLE}")
        return connection

    async def _connect_pooled(self, *args: Any, **kwargs: Any) -> Connection:
        connection = await _open(*args, **kwargs)
        connection.is_pooled = True
        with closed_on_failure(connection):
            async with connection.transaction():
                connection.needs_role = await connection.fetchval(BYPASSES_POLICIES)
                if connection.needs_role:
                    await _take_role(connection, f"SET LOCAL ROLE {ROLE}")
        wanted = self._settings | self._known(connection)
        settings = [f"SET LOCAL {name} = '{value}'" for name, value in wanted.items()]
        if connection.needs_role:
            settings.append(f"SET LOCAL ROLE {ROLE}")
        connection.settings = "".join(f"{each}; " for each in settings)
        return connection

    def _known(self, connection: Connection) -> dict[str, str]:
        return self._since_17 if connection.get_server_version().major >= 17 else {}


async def connect_for_command(url: str, *, timeout: float) -> Connection:
    """A connection outside any pool, without role, scope or time limit. Statements with values have
    to be in a transaction: a pooler may run the next one elsewhere."""
    try:
        return await _open(url, timeout=timeout, connection_class=Connection)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise Unavailable from error


async def _open(*args: Any, **kwargs: Any) -> Connection:
    # PgBouncer refuses settings that it does not know, and older ones no prepared statements.
    connection: Connection = await asyncpg.connect(
        *args, **kwargs, statement_cache_size=0, server_settings=_APPLICATION
    )
    return connection


async def is_pooled(connection: Connection) -> bool:
    """A pooler announces itself with a process id of its own: it can't know the server's yet."""
    async with connection.transaction():
        pid = await connection.fetchval("SELECT pg_backend_pid()")
    return bool(pid != connection.get_server_pid())


async def _take_role(connection: Connection, statement: str) -> None:
    try:
        await connection.execute(statement)
    except asyncpg.PostgresError as error:
        raise Unavailable(
            "The database is not set up for row-level security. Run `masthead migrate`."
        ) from error


BYPASSES_POLICIES = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
