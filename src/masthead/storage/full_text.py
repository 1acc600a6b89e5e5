"""Full text behind one set of verbs: FTS5 on SQLite, a `tsvector` under GIN on PostgreSQL.

A document is a row of `search_documents`; its words are ASCII letters and digits that the caller
has folded, so both databases find the same. In the index each word begins with the document's
`prefix`, which belongs to one tenant's collection: a search reads no posting of anybody else's.

Writing a few hundred words to FTS5 costs about as much as the rest of a change. So its changes are
collected in `search_pending`, which searches look through as well, and written a few hundred at a
time; GIN does the same by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import sqlalchemy as sa
from sqlalchemy import DDL, Column, PrimaryKeyConstraint, Table, event
from sqlalchemy.dialects.postgresql import Insert, insert
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.selectable import FromClause

from masthead.storage import dialects
from masthead.storage.metadata import metadata

PENDING: Final = 512
"""How many changed documents FTS5 is kept waiting for."""

REACH: Final = 2**21
"""A position that is taken makes way for a later one, never this much later."""

documents = Table(
    "search_documents",
    metadata,
    # Where the document stands among all: results come in this order. FTS5 knows no other.
    Column("position", dialects.Integer(), nullable=False, autoincrement=False),
    Column("tenant_id", dialects.Text(), nullable=False),
    Column("collection", dialects.Text(), nullable=False),
    Column("record_id", dialects.Text(), nullable=False),
    Column("prefix", dialects.Text(), nullable=False),
    Column("words", dialects.Words(), nullable=False),
    PrimaryKeyConstraint("position"),
)

_words = sa.table("search_words", sa.column("rowid", sa.BigInteger()))
_pending = sa.table("search_pending", sa.column("position", sa.BigInteger()))

NOT_DECLARED: Final = ("search_words", "search_pending")
"""Tables of SQLite's that begin so are made by `INDEX`; no metadata knows them."""


def _forget(row: str) -> str:
    """SQL that has the index forget a document, if that is not waiting already."""
    values = f"{row}.position, {_prefixed(row)}"
    return f"INSERT OR IGNORE INTO search_pending VALUES ({values})"  # noqa: S608 - constants


def _prefixed(row: str) -> str:
    """SQL for the words as they stand in the index; two blanks leave a word that none asks for,
    so that no phrase reaches from one field into the next."""
    return f"replace(' ' || {row}.words, ' ', ' ' || {row}.prefix)"


_FORGET_PENDING: Final = (
    "INSERT INTO search_words (search_words, rowid, words) "
    "SELECT 'delete', position, indexed FROM search_pending WHERE indexed IS NOT NULL"
)

_FORGET_OLD: Final = (
    f"{_FORGET_PENDING} AND position = old.position; "  # noqa: S608 - constants
    "DELETE FROM search_pending WHERE position = old.position"
)

INDEX: Final = {
    "sqlite": (
        # Without content: what FTS5 has to forget is told from the row and `search_pending`.
        "CREATE VIRTUAL TABLE search_words USING fts5 "
        "(words, content = '', columnsize = 0, tokenize = 'ascii')",
        "INSERT INTO search_words (search_words, rank) VALUES ('automerge', 8)",
        # `indexed` is what FTS5 holds of the document now, NULL if nothing.
        "CREATE TABLE search_pending (position INTEGER PRIMARY KEY, indexed TEXT)",
        "CREATE TRIGGER search_documents_insert AFTER INSERT ON search_documents BEGIN "
        "INSERT OR IGNORE INTO search_pending VALUES (new.position, NULL); END",
        "CREATE TRIGGER search_documents_update AFTER UPDATE OF words ON search_documents BEGIN "
        f"{_forget('old')}; END",
        # At once: an erasure, which deletes rows by the thousand, leaves no words waiting.
        "CREATE TRIGGER search_documents_delete AFTER DELETE ON search_documents BEGIN "
        f"{_forget('old')}; {_FORGET_OLD}; END",
    ),
    "postgresql": (
        "CREATE INDEX ix_search_documents__words ON search_documents "
        "USING gin (words) WITH (gin_pending_list_limit = 256)",
        # For words that nearly every document has: newest first until a page is full.
        "CREATE INDEX ix_search_documents__tenant_id_collection_position "
        "ON search_documents (tenant_id, collection, position)",
        # Before it has seen that a row is the tenant's own, row-level security allows no test
        # that might leak, and `@@` counts as one: no index on words could be used. What a search
        # finds is joined with the records, whose policy decides.
        "CREATE POLICY search_documents_search ON search_documents FOR SELECT USING (true)",
    ),
}
"""What belongs to `search_documents` beside what its declaration says."""

for _dialect, _statements in INDEX.items():
    for _statement in _statements:
        _ddl: DDL = DDL(_statement)  # type: ignore[no-untyped-call]
        event.listen(documents, "after_create", _ddl.execute_if(dialect=_dialect))


class _indexed(FunctionElement[Any]):
    """`_indexed(prefix, words)`: the value of the column `words`."""

    inherit_cache = True
    type = sa.Text()


@compiles(_indexed, "sqlite")
def _write_plain(element: _indexed, compiler: SQLCompiler, **kw: Any) -> str:
    _, words = element.clauses
    return compiler.process(words, **kw)


@compiles(_indexed, "postgresql")
def _write_vector(element: _indexed, compiler: SQLCompiler, **kw: Any) -> str:
    prefix, words = (compiler.process(each, **kw) for each in element.clauses)
    return f"to_tsvector('simple', replace(' ' || {words}, ' ', ' ' || {prefix}))"


def _texts(*names: str) -> dict[str, Any]:
    # The casts tell PostgreSQL what a parameter is that stands in two places.
    return {name: sa.cast(sa.bindparam(name, required=True), sa.Text()) for name in names}


def insert_document() -> Insert:
    """Parameters: the columns. Inserts nothing, as the row count says, if `position` is taken."""
    given = _texts("tenant_id", "collection", "record_id", "prefix", "words")
    values = given | {
        "position": sa.bindparam("position", required=True),
        "words": _indexed(given["prefix"], given["words"]),
    }
    return insert(documents).values(values).on_conflict_do_nothing(index_elements=["position"])


def update_document() -> sa.Update:
    """Parameters: those of `position_of_record`, `new_prefix` and `new_words`."""
    given = _texts("new_prefix", "new_words")
    found = documents.c.position == position_of_record().scalar_subquery()
    return sa.update(documents).where(found).values(words=_indexed(*given.values()))


def delete_document() -> sa.Delete:
    return sa.delete(documents).where(
        documents.c.position == position_of_record().scalar_subquery()
    )


def position_of_record() -> sa.Select[Any]:
    """From `key_position` on, where the record was to stand, it is nearly always the first.

    Parameters: `key_position`, `key_tenant`, `key_collection`, `key_record`.
    """
    rows = documents.alias()
    first: ColumnElement[int] = sa.cast(
        sa.bindparam("key_position", required=True), dialects.Integer()
    )
    tenant_id, collection, record_id = _texts("key_tenant", "key_collection", "key_record").values()
    return (
        sa.select(rows.c.position)
        .where(
            rows.c.position >= first,
            rows.c.position < first + sa.literal_column(str(REACH)),
            rows.c.tenant_id == tenant_id,
            rows.c.collection == collection,
            rows.c.record_id == record_id,
        )
        .order_by(rows.c.position)
        .limit(sa.literal_column("1"))
    )


@dataclass(frozen=True, slots=True)
class Arm:
    """One of the places that a search looks in; what it finds is the sum of all of them."""

    rows: FromClause
    """`search_documents`, reached in the order of `position`."""
    index: FromClause
    """Enough to count."""
    position: ColumnElement[int]
    test: ColumnElement[bool]
    """Parameters: those that `search_values` gives."""


def arms(dialect: str) -> tuple[Arm, ...]:
    query: ColumnElement[Any] = sa.bindparam("search_query", required=True)
    if dialect == "postgresql":
        found = documents.c.words.op("@@", is_comparison=True)(_as_query(query))
        return (Arm(documents, documents, documents.c.position, found),)
    return (_written(query), _waiting())


def _written(query: ColumnElement[Any]) -> Arm:
    rows = dialects.in_order(_words, documents, documents.c.position == _words.c.rowid)
    match = sa.literal_column("search_words").op("MATCH", is_comparison=True)(query)
    is_current = _words.c.rowid.not_in(sa.select(_pending.c.position))
    return Arm(rows, _words, _words.c.rowid, sa.and_(match, is_current))


def _waiting() -> Arm:
    rows = dialects.in_order(_pending, documents, documents.c.position == _pending.c.position)
    test = sa.and_(
        documents.c.prefix == sa.bindparam("search_prefix", required=True),
        _holds_all(documents.c.words, sa.bindparam("search_pieces", required=True)),
    )
    return Arm(rows, rows, _pending.c.position, test)


class _holds_all(FunctionElement[Any]):
    """`_holds_all(words, pieces)`: each text of a JSON list is somewhere in the words."""

    inherit_cache = True
    type = sa.Boolean()
    _is_implicitly_boolean = True


@compiles(_holds_all, "sqlite")
def _write_holds_all(element: _holds_all, compiler: SQLCompiler, **kw: Any) -> str:
    words, pieces = (compiler.process(each, **kw) for each in element.clauses)
    return (
        f"(NOT EXISTS (SELECT 1 FROM json_each({pieces}) "  # noqa: S608 - compiled clauses
        f"WHERE instr(' ' || {words} || ' ', value) = 0))"
    )


class _as_query(FunctionElement[Any]):
    inherit_cache = True
    type = sa.Text()


@compiles(_as_query, "postgresql")
def _write_query(element: _as_query, compiler: SQLCompiler, **kw: Any) -> str:
    (query,) = element.clauses
    return f"CAST(CAST({compiler.process(query, **kw)} AS TEXT) AS tsquery)"


@dataclass(frozen=True, slots=True)
class Term:
    """Words that stand in a row; of the last one perhaps only the beginning."""

    words: tuple[str, ...]
    is_prefix: bool = False


def search_values(dialect: str, prefix: str, terms: Sequence[Term]) -> dict[str, Any]:
    """The parameters of a search for documents that have all of the terms."""
    write = _tsquery if dialect == "postgresql" else _fts5_query
    joint = " & " if dialect == "postgresql" else " AND "
    return {
        "search_query": joint.join(write(prefix, term) for term in terms),
        "search_prefix": prefix,
        "search_pieces": msgspec.json.encode([_piece(term) for term in terms]).decode(),
    }


def _fts5_query(prefix: str, term: Term) -> str:
    phrase = " ".join(prefix + word for word in term.words)
    return f'"{phrase}"*' if term.is_prefix else f'"{phrase}"'


def _tsquery(prefix: str, term: Term) -> str:
    phrase = " <-> ".join(f"'{prefix}{word}'" for word in term.words)
    return f"({phrase}:*)" if term.is_prefix else f"({phrase})"


def _piece(term: Term) -> str:
    phrase = " " + " ".join(term.words)
    return phrase if term.is_prefix else phrase + " "


def is_overdue(dialect: str) -> sa.Select[Any] | None:
    """Asks whether `write_pending` should be run; None where the database sees to it itself."""
    if dialect == "postgresql":
        return None
    return sa.select(sa.func.count() >= sa.literal_column(str(PENDING))).select_from(_pending)


def write_pending() -> tuple[sa.TextClause, ...]:
    """Brings FTS5 up to date. Takes milliseconds, and now and then merges what is there."""
    return (
        sa.text(f"{_FORGET_PENDING} ORDER BY position"),
        sa.text(
            "INSERT INTO search_words (rowid, words) "  # noqa: S608 - no value in it
            f"SELECT position, {_prefixed('search_documents')} "
            "FROM search_pending CROSS JOIN search_documents USING (position) "
            # FTS5 writes everything out whenever a number is less than the one before.
            "ORDER BY search_pending.position"
        ),
        sa.text("DELETE FROM search_pending"),
    )


def purge(dialect: str) -> sa.TextClause | None:
    """Rewrites FTS5's index without what it has forgotten; else merges do that in time. Takes as
    long as the whole index is large. None where the database has a vacuum for it."""
    if dialect == "postgresql":
        return None
    return sa.text("INSERT INTO search_words (search_words) VALUES ('optimize')")
