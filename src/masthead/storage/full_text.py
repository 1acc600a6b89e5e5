"""Full-text search: FTS5 on SQLite, a `tsvector` with a GIN index on PostgreSQL.

A document is a row of `search_documents`. Its words are ASCII letters and digits that the caller
has normalized, so that both databases find the same. In the index each word begins with the
document's `prefix`, which belongs to one tenant's collection, so that a search reads no posting of
others.

Indexing a text costs about as much as the rest of a change. So the caller queues documents and
inserts many at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec
import sqlalchemy as sa
from sqlalchemy import Column, PrimaryKeyConstraint, Table
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ClauseElement, ColumnElement, Executable
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.selectable import FromClause

from masthead.storage import dialects
from masthead.storage.database import Database
from masthead.storage.metadata import metadata

MAX_SHIFT: Final = 2**21
"""A document whose position is taken gets a later one, but never this much later."""

documents = Table(
    "search_documents",
    metadata,
    # The order of results. FTS5 supports no other.
    Column("position", dialects.Integer(), nullable=False, autoincrement=False),
    Column("tenant_id", dialects.Text(), nullable=False),
    Column("collection", dialects.Text(), nullable=False),
    Column("record_id", dialects.Text(), nullable=False),
    Column("prefix", dialects.Text(), nullable=False),
    Column("words", dialects.Words(), nullable=False),
    PrimaryKeyConstraint("position"),
)

_words = sa.table("search_words", sa.column("rowid", sa.BigInteger()))

FTS_TABLE_PREFIX: Final = "search_words"
"""SQLite tables whose names begin so are created by `INDEX` and are not in the metadata."""


INDEX: Final = {
    "sqlite": (
        # Contentless: a delete passes the words from the row. Two blanks between words leave an
        # empty word, which no query has, so that no phrase matches across two fields.
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
        # For words that nearly every document has: a scan in order until a page is full.
        "CREATE INDEX ix_search_documents__tenant_id_collection_position "
        "ON search_documents (tenant_id, collection, position)",
        # Row-level security evaluates the tenant's condition before any operator that might leak,
        # and `@@` counts as one, so the index on words would be unused. Search results are joined
        # with the records, whose policies apply.
        "CREATE POLICY search_documents_search ON search_documents FOR SELECT USING (true)",
    ),
}
"""The parts of `search_documents` that its declaration can't express."""


class insert_documents(Executable, ClauseElement):
    """Inserts many documents in the order of their positions, except those whose position is taken.
    The row count tells how many were inserted.

    Parameter: `rows`, from `document_rows`. A single statement runs without the interpreter's lock.
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
        # FTS5 flushes its buffer whenever a rowid is less than the one before.
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
    """A row of `search_documents`; the words have no prefix yet."""

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
    # PostgreSQL can't infer the type of a parameter that occurs twice.
    return {name: sa.cast(sa.bindparam(name, required=True), sa.Text()) for name in names}


def taken_positions() -> sa.Select[Any]:
    """The documents at some positions. Parameter: `positions`, a list value."""
    wanted = dialects.any_of(documents.c.position, sa.bindparam("positions", required=True))
    key = ("position", "tenant_id", "collection", "record_id")
    return sa.select(*(documents.c[name] for name in key)).where(wanted)


def delete_document() -> sa.Delete:
    """Names the tenant itself, so that a database distributed by tenant asks one server."""
    (tenant_id,) = _texts("key_tenant").values()
    return sa.delete(documents).where(
        documents.c.tenant_id == tenant_id,
        documents.c.position == position_of_record().scalar_subquery(),
    )


def position_of_record() -> sa.Select[Any]:
    """The record's document is at `key_position`, or a little later if that was taken.

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
            rows.c.position < first + sa.literal_column(str(MAX_SHIFT)),
            rows.c.tenant_id == tenant_id,
            rows.c.collection == collection,
            rows.c.record_id == record_id,
        )
        .order_by(rows.c.position)
        .limit(sa.literal_column("1"))
    )


class has_words(FunctionElement[Any]):
    """Whether a document has exactly the words of the parameter `words`, which have no prefix
    yet."""

    inherit_cache = True
    type = sa.Boolean()
    words = sa.bindparam("words", required=True, type_=sa.Text())


@compiles(has_words, "sqlite")
def _compare_in_sqlite(_: has_words, compiler: SQLCompiler, **kw: Any) -> str:
    stored = compiler.process(documents.c.words, **kw)
    return f"({stored} = {compiler.process(has_words.words, **kw)})"


@compiles(has_words, "postgresql")
def _compare_in_postgresql(_: has_words, compiler: SQLCompiler, **kw: Any) -> str:
    stored, prefix = (compiler.process(documents.c[name], **kw) for name in ("words", "prefix"))
    words = f"' ' || CAST({compiler.process(has_words.words, **kw)} AS TEXT)"
    return f"({stored} = to_tsvector('simple', replace({words}, ' ', ' ' || {prefix})))"


class TextSearch(msgspec.Struct, frozen=True):
    """The FROM and WHERE parts of a search."""

    rows: FromClause
    """`search_documents` in the order of `position`."""
    index: FromClause
    """Only for counting."""
    position: ColumnElement[int]
    test: ColumnElement[bool]
    """Its parameter comes from `search_values`."""


def found(database: Database) -> TextSearch:
    query: ColumnElement[Any] = sa.bindparam("search_query", required=True)
    if database.name == "postgresql":
        test = documents.c.words.op("@@", is_comparison=True)(_as_query(query))
        return TextSearch(documents, documents, documents.c.position, test)
    rows = dialects.ordered_join(_words, documents, documents.c.position == _words.c.rowid)
    match = sa.literal_column("search_words").op("MATCH", is_comparison=True)(query)
    return TextSearch(rows, _words, _words.c.rowid, match)


class _as_query(FunctionElement[Any]):
    inherit_cache = True
    type = sa.Text()


@compiles(_as_query, "postgresql")
def _write_query(element: _as_query, compiler: SQLCompiler, **kw: Any) -> str:
    (query,) = element.clauses
    return f"CAST(CAST({compiler.process(query, **kw)} AS TEXT) AS tsquery)"


class Term(msgspec.Struct, frozen=True):
    """Consecutive words; with `is_prefix` the last one is a prefix."""

    words: tuple[str, ...]
    is_prefix: bool = False


def search_values(database: Database, prefix: str, terms: Sequence[Term]) -> dict[str, Any]:
    """The parameter of a search for documents that match all terms."""
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
