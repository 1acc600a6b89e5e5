"""Full text behind one set of verbs: FTS5 on SQLite, a `tsvector` under GIN on PostgreSQL.

A document is a row of `search_documents`; its words are ASCII letters and digits that the caller
has folded, so both databases find the same. In the index each word begins with the document's
`prefix`, which belongs to one tenant's collection: a search reads no posting of anybody else's.

Indexing a text costs about as much as the rest of a change, so it is done later and for many
documents at once: who calls keeps the list of what waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import msgspec
import sqlalchemy as sa
from sqlalchemy import DDL, Column, PrimaryKeyConstraint, Table, event
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ClauseElement, ColumnElement, Executable
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.selectable import FromClause

from masthead.storage import dialects
from masthead.storage.database import Database
from masthead.storage.metadata import metadata

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

NOT_DECLARED: Final = "search_words"
"""Tables of SQLite's that begin so are made by `INDEX`; no metadata knows them."""


INDEX: Final = {
    "sqlite": (
        # Without content: what FTS5 has to forget is told from the row. Two blanks between words
        # leave a word that none asks for, so that no phrase reaches from one field into the next.
        "CREATE VIRTUAL TABLE search_words USING fts5 "
        "(words, content = '', columnsize = 0, tokenize = 'ascii')",
        "INSERT INTO search_words (search_words, rank) VALUES ('automerge', 8)",
        "CREATE TRIGGER search_documents_insert AFTER INSERT ON search_documents BEGIN "
        "INSERT INTO search_words (rowid, words) "
        "VALUES (new.position, replace(' ' || new.words, ' ', ' ' || new.prefix)); END",
        "CREATE TRIGGER search_documents_delete AFTER DELETE ON search_documents BEGIN "
        "INSERT INTO search_words (search_words, rowid, words) "
        "VALUES ('delete', old.position, replace(' ' || old.words, ' ', ' ' || old.prefix)); END",
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


class insert_documents(Executable, ClauseElement):
    """Inserts many documents at once, in the order of their positions, and leaves out those whose
    position is taken; the row count says how many that were.

    Parameter: `rows`, made by `document_rows`. One statement, so that a thread which runs it holds
    no lock of the interpreter's.
    """

    inherit_cache = True
    rows = sa.bindparam("rows", required=True, type_=sa.Text())


_COLUMNS: Final = "position, tenant_id, collection, record_id, prefix, words"


@compiles(insert_documents, "sqlite")
def _insert_into_sqlite(_: insert_documents, compiler: SQLCompiler, **kw: Any) -> str:
    rows = compiler.process(insert_documents.rows, **kw)
    values = ", ".join(f"value ->> {number}" for number in range(6))
    return (
        f"INSERT INTO search_documents ({_COLUMNS}) SELECT {values} "  # noqa: S608 - constants
        # FTS5 writes everything out whenever a number is less than the one before.
        f"FROM json_each({rows}) WHERE true ORDER BY value ->> 0 ON CONFLICT DO NOTHING"
    )


@compiles(insert_documents, "postgresql")
def _insert_into_postgresql(_: insert_documents, compiler: SQLCompiler, **kw: Any) -> str:
    rows = compiler.process(insert_documents.rows, **kw)
    texts = ", ".join(f"value ->> {number}" for number in range(1, 5))
    words = "to_tsvector('simple', replace(' ' || (value ->> 5), ' ', ' ' || (value ->> 4)))"
    return (
        f"INSERT INTO search_documents ({_COLUMNS}) "  # noqa: S608 - constants
        f"SELECT CAST(value ->> 0 AS BIGINT), {texts}, {words} "
        f"FROM jsonb_array_elements(CAST({rows} AS JSONB)) ORDER BY 1 ON CONFLICT DO NOTHING"
    )


class Document(NamedTuple):
    """A row of `search_documents`, its words not yet prefixed."""

    position: int
    tenant_id: str
    collection: str
    record_id: str
    prefix: str
    words: str


def document_rows(rows: Sequence[Document]) -> str:
    """The parameter of `insert_documents`."""
    return msgspec.json.encode(rows).decode()


def _texts(*names: str) -> dict[str, Any]:
    # The casts tell PostgreSQL what a parameter is that stands in two places.
    return {name: sa.cast(sa.bindparam(name, required=True), sa.Text()) for name in names}


def taken_positions() -> sa.Select[Any]:
    """Who stands at some positions. Parameter: `positions`, a list value."""
    wanted = dialects.any_of(documents.c.position, sa.bindparam("positions", required=True))
    key = ("position", "tenant_id", "collection", "record_id")
    return sa.select(*(documents.c[name] for name in key)).where(wanted)


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
class Found:
    """Where a search looks."""

    rows: FromClause
    """`search_documents`, reached in the order of `position`."""
    index: FromClause
    """Enough to count."""
    position: ColumnElement[int]
    test: ColumnElement[bool]
    """Parameter: the one that `search_values` gives."""


def found(database: Database) -> Found:
    query: ColumnElement[Any] = sa.bindparam("search_query", required=True)
    if database.name == "postgresql":
        test = documents.c.words.op("@@", is_comparison=True)(_as_query(query))
        return Found(documents, documents, documents.c.position, test)
    rows = dialects.in_order(_words, documents, documents.c.position == _words.c.rowid)
    match = sa.literal_column("search_words").op("MATCH", is_comparison=True)(query)
    return Found(rows, _words, _words.c.rowid, match)


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


def search_values(database: Database, prefix: str, terms: Sequence[Term]) -> dict[str, Any]:
    """The parameter of a search for documents that have all of the terms."""
    if database.name == "postgresql":
        query = " & ".join(_tsquery(prefix, term) for term in terms)
    else:
        query = " AND ".join(_fts5_query(prefix, term) for term in terms)
    return {"search_query": query}


def _fts5_query(prefix: str, term: Term) -> str:
    phrase = " ".join(prefix + word for word in term.words)
    return f'"{phrase}"*' if term.is_prefix else f'"{phrase}"'


def _tsquery(prefix: str, term: Term) -> str:
    phrase = " <-> ".join(f"'{prefix}{word}'" for word in term.words)
    return f"({phrase}:*)" if term.is_prefix else f"({phrase})"
