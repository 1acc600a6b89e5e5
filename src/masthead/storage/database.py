"""The interface of a database, the same for SQLite and PostgreSQL.

Statements are SQLAlchemy Core expressions. Those of `Database.compile` are compiled once, when they
are first used, and then run with positional values; requests use no SQLAlchemy engine. Only this
package knows the differences between the databases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, NamedTuple, NewType, Protocol

from sqlalchemy.sql import ClauseElement, Insert

from masthead.base.ids import TenantId

Row = Sequence[Any]

Scope = NewType("Scope", str)
"""The tenant whose rows a statement may access. PostgreSQL enforces it by row-level security."""

MAX_BYTES = "max_bytes"

PROVEN_SECONDS = 1.0
"""How long what has succeeded counts as a ping. Under load a ping of its own would wait for its
turn behind everything else."""

EVERY_TENANT = Scope("*")
"""For operators, the worker and the command line."""


def scope_of(tenant_id: TenantId) -> Scope:
    return Scope(tenant_id)


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL text of one dialect with the names of its parameters and the values of the constants."""

    text: str
    names: tuple[str, ...]
    constants: Mapping[str, object]
    target: str = ""
    """The table that it inserts into, updates or deletes from."""
    tables: frozenset[str] | None = None
    """All tables that it reads or changes; None where that is not known."""
    counted: tuple[int, ...] = ()
    """The positions of the columns whose bytes `Database.fetch` counts."""

    def bind(self, values: Mapping[str, object]) -> tuple[object, ...]:
        if self.constants:
            values = {**self.constants, **values}
        return tuple(map(values.__getitem__, self.names))

    def __call__(self, values: Mapping[str, object] = MappingProxyType({})) -> Bound:
        """With its values: `fetch(scope, *find(values))`, `execute(*change(values))`."""
        return Bound(self, self.bind(values))


class Bound(NamedTuple):
    statement: Statement
    values: Sequence[object]


class LazyStatement(Statement):
    """Compiled when it is first used. A process declares hundreds, of which a command uses a few
    and a server needs none to start."""

    __slots__ = ("_compile",)

    def __init__(self, compile_now: Callable[[], Statement]) -> None:
        object.__setattr__(self, "_compile", compile_now)

    def __getattr__(self, name: str) -> Any:
        # Python asks only for what is not set yet.
        compiled = self._compile()
        for field in fields(Statement):
            object.__setattr__(self, field.name, getattr(compiled, field.name))
        # Lets go of the expression. Another thread may be about to call it.
        object.__setattr__(self, "_compile", lambda: compiled)
        return getattr(compiled, name)


class Deferral(NamedTuple):
    """Rows of one statement that `Transaction.defer` takes."""

    statement: Statement
    rows: Sequence[Sequence[object]]
    adding: bool = False
    """The last value of a row is added to the stored one, so that rows with the same key can be
    merged."""


class Transaction(Protocol):
    """Leaving the block returns only after the commit is durable.

    A failed statement fails the transaction: if the block catches its error, the block still ends
    with that error and nothing is stored.
    """

    async def fetch(self, statement: Statement, values: Sequence[object] = ()) -> list[Row]: ...

    async def execute(
        self, statement: Statement, values: Sequence[object] = (), *, slow: bool = False
    ) -> int:
        """Returns the number of affected rows.

        `slow` marks a statement whose cost grows with the data (a cascade, a sweep). SQLite runs it
        in a thread.
        """
        ...

    async def execute_many(
        self, statement: Statement, rows: Sequence[Sequence[object]]
    ) -> None: ...

    async def avoid_sorting(self) -> None:
        """Until the end of the transaction, the planner reads rows in the order of an index instead
        of sorting them."""
        ...

    def notify(self, text: str) -> None:
        """Sends the text, of letters and digits, to all processes that `Database.listen`, with the
        commit. Does nothing where none can."""
        ...

    def defer(self, *deferrals: Deferral) -> None:
        """Like `execute_many`, but at any time until the commit: SQLite writes the rows of many
        transactions at once.

        A statement that reads or changes the table writes its deferred rows first. Only for tables
        without foreign keys and rows that violate no constraint: a failure fails all transactions
        of the commit.
        """
        ...


class Listening(Protocol):
    def is_open(self) -> bool:
        """False once notifications may be lost: then listen again."""
        ...

    async def close(self) -> None: ...


class Database(Protocol):
    name: str
    """`sqlite` or `postgresql`. For this package and for messages; other code must not branch on
    it."""
    has_one_writer: bool
    """Whether a transaction blocks all other writers."""

    def compile(self, statement: ClauseElement, counted: Sequence[str] = ()) -> Statement:
        """Compiled when it is first used. `counted` names the columns of a select whose bytes are
        limited. Such a statement has the parameter `MAX_BYTES` and may return additional columns at
        the end."""
        ...

    def compile_both(self, first: Insert, second: Insert) -> Statement | None:
        """Both as one statement, which saves a round trip; None where there are no round trips."""
        ...

    def list_value(self, values: Sequence[object]) -> object:
        """A list as a single parameter, for `dialects.any_of`."""
        ...

    def data_version(self) -> int | None:
        """A number that changes with every commit; None where it would cost a query."""
        ...

    async def fetch(
        self,
        scope: Scope,
        statement: Statement,
        values: Sequence[object] = (),
        *,
        slow: bool = False,
        max_bytes: int | None = None,
    ) -> list[Row]:
        """Reads outside any transaction. `slow` announces a read that may take long.

        With `max_bytes` they are `SizedRows`. Raises `RowsTooLarge` as soon as the counted columns
        exceed it, before the remaining rows are in memory."""
        ...

    def transaction(self, scope: Scope) -> AbstractAsyncContextManager[Transaction]: ...

    async def listen(self, heard: Callable[[str], None]) -> Listening | None:
        """Calls `heard` with what transactions of all processes notify of. None where that does not
        work: on SQLite, and behind a pooler that gives out connections by transaction."""
        ...

    def connections(self) -> tuple[int, int]:
        """How many are open, and how many of them are idle."""
        ...

    async def count_bytes(self) -> int:
        """The size of the database on its disk."""
        ...

    async def ping(self) -> None:
        """Returns if the database has answered in the last `PROVEN_SECONDS`, or once it answers;
        raises `Unavailable` within two seconds otherwise."""
        ...

    async def close(self) -> None: ...


class SizedRows(list[Row]):
    """Rows of a read whose counted columns were limited, with their size together. SQLite counts
    characters, PostgreSQL bytes."""

    __slots__ = ("size",)

    def __init__(self, rows: Iterable[Row] = (), size: int = 0) -> None:
        super().__init__(rows)
        self.size = size


class RowsTooLarge(Exception):
    """The rows exceed `max_bytes`."""


class UniqueViolation(Exception):
    """A row with the same key exists; `columns` are those of the violated index."""

    def __init__(self, table: str, columns: tuple[str, ...]) -> None:
        super().__init__(f"{table}: {', '.join(columns)}")
        self.table = table
        self.columns = columns


class ForeignKeyViolation(Exception):
    """A row refers to a missing one, or a row that others refer to was deleted."""
