"""What the rest of the service may ask of a database, whichever one it is.

Statements are SQLAlchemy Core expressions compiled once by `Database.compile` and then run with
plain positional values; no SQLAlchemy engine stands on a request path. Dialect differences live in
this package and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, NewType, Protocol

from sqlalchemy.sql import ClauseElement, Insert

from masthead.ids import TenantId

Row = Sequence[Any]

Scope = NewType("Scope", str)
"""Whose rows a statement may touch. PostgreSQL enforces it by row-level security."""

MAX_BYTES = "max_bytes"

EVERY_TENANT = Scope("*")
"""For the platform itself: operators, the worker, the command line."""


def scope_of(tenant_id: TenantId) -> Scope:
    return Scope(tenant_id)


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL text of one dialect, the names of its parameters in order, and the fixed ones' values."""

    text: str
    names: tuple[str, ...]
    constants: Mapping[str, object]
    target: str = ""
    """The table that it inserts into, updates or deletes from."""
    tables: frozenset[str] | None = None
    """All tables that it reads or changes; None where that is not known."""
    counted: tuple[int, ...] = ()
    """The columns that `Database.fetch` counts the bytes of, as it needs them."""

    def bind(self, values: Mapping[str, object]) -> tuple[object, ...]:
        if self.constants:
            values = {**self.constants, **values}
        return tuple(map(values.__getitem__, self.names))


class Transaction(Protocol):
    """One all-or-nothing change. Leaving the block returns only after the commit is durable.

    A statement that fails spoils the transaction: catching its error inside the block saves
    nothing, the block then ends with that error.
    """

    async def fetch(self, statement: Statement, values: Sequence[object] = ()) -> list[Row]: ...

    async def execute(
        self, statement: Statement, values: Sequence[object] = (), *, slow: bool = False
    ) -> int:
        """Runs a change and returns how many rows it touched.

        `slow` marks a statement whose cost grows with the data (a cascade, a sweep), so that an
        embedded database runs it away from the event loop.
        """
        ...

    async def execute_many(
        self, statement: Statement, rows: Sequence[Sequence[object]]
    ) -> None: ...

    async def avoid_sorting(self) -> None:
        """From here to the end of the transaction rows are read in the order of an index and not
        sorted, however few of them the database expects."""
        ...

    async def defer(
        self, statement: Statement, rows: Sequence[Sequence[object]], *, adding: bool = False
    ) -> None:
        """Like `execute_many`, at any time until the commit: an embedded database writes the rows
        of many transactions at once.

        The rows wait by table, and a statement that reads or changes the table has them written
        first. `adding` says that the last value of a row is added to what is there, so that rows
        alike in all others may be made one. For tables without foreign keys, and for rows that
        violate nothing: a failure would be that of all transactions of the commit.
        """
        ...


class Database(Protocol):
    name: str
    """`sqlite` or `postgresql`: for this package and for messages, not to decide anything by."""
    has_one_writer: bool
    """Whether other changes wait for a transaction to end; elsewhere they run at the same time."""

    def compile(self, statement: ClauseElement, counted: Sequence[str] = ()) -> Statement:
        """`counted` are the columns of long texts in a select whose rows must not be too many
        bytes. Such a statement has the parameter `MAX_BYTES` and may have columns of its own behind
        those that were asked for."""
        ...

    def compile_both(self, first: Insert, second: Insert) -> Statement | None:
        """Both as one statement, which saves a round trip; None where there is none to save."""
        ...

    def list_value(self, values: Sequence[object]) -> object:
        """A list as the one parameter of `dialects.any_of`."""
        ...

    def data_version(self) -> int | None:
        """Changes whenever anyone commits; None where asking costs as much as reading."""
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
        """Reads outside any transaction. `slow` says beforehand that this may take a while.

        Raises `RowsTooLarge` as soon as the counted columns hold more than `max_bytes`, before the
        rest of the rows is in memory."""
        ...

    def transaction(self, scope: Scope) -> AbstractAsyncContextManager[Transaction]: ...

    async def ping(self) -> None:
        """Returns when the database answers, raises `Unavailable` within two seconds otherwise."""
        ...

    async def close(self) -> None: ...


class RowsTooLarge(Exception):
    """The rows hold more bytes than the reader takes."""


class UniqueViolation(Exception):
    """A row with the same key exists; `columns` are those of the violated index."""

    def __init__(self, table: str, columns: tuple[str, ...]) -> None:
        super().__init__(f"{table}: {', '.join(columns)}")
        self.table = table
        self.columns = columns


class ForeignKeyViolation(Exception):
    """A row points at one that does not exist, or one that is still pointed at was removed."""
