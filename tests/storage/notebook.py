"""Two small tables for the storage tests, on a database of their own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from tests.databases import create_tables, empty_postgres_url

from masthead.storage.database import EVERY_TENANT, Database, Scope, Statement
from masthead.storage.dialects import Flag, Integer, Json, Text, upsert_add
from masthead.storage.open import open_database

ANN = Scope("ann")
BOB = Scope("bob")

metadata = sa.MetaData()

notes = sa.Table(
    "notes",
    metadata,
    sa.Column("tenant_id", Text, primary_key=True),
    sa.Column("id", Text, primary_key=True),
    sa.Column("slug", Text, nullable=False),
    sa.Column("likes", Integer, nullable=False, server_default="0"),
    sa.Column("tags", Json, nullable=False, server_default="[]"),
    sa.Column("pinned", Flag),
    sa.Index("ux_notes__slug", "tenant_id", "slug", unique=True),
)

replies = sa.Table(
    "replies",
    metadata,
    sa.Column("tenant_id", Text, primary_key=True),
    sa.Column("id", Text, primary_key=True),
    sa.Column("note_id", Text, nullable=False),
    sa.ForeignKeyConstraint(["tenant_id", "note_id"], ["notes.tenant_id", "notes.id"]),
)

tallies = sa.Table(
    "tallies",
    metadata,
    sa.Column("tenant_id", Text, primary_key=True),
    sa.Column("name", Text, primary_key=True),
    sa.Column("total", Integer, nullable=False),
)


@dataclass(frozen=True)
class Notebook:
    """A database together with the statements that the tests run on it."""

    url: str
    db: Database
    add: Statement
    like: Statement
    reply: Statement
    drop: Statement
    ids: Statement
    likes: Statement
    count: Statement
    totals: Statement

    async def ids_of(self, scope: Scope) -> list[str]:
        return [row[0] for row in await self.db.fetch(scope, self.ids, (scope,))]

    async def likes_of(self, scope: Scope, note_id: str) -> int:
        rows = await self.db.fetch(scope, self.likes, (scope, note_id))
        return int(rows[0][0])


def new_url(engine: str, tmp_path: Path) -> str:
    url = empty_postgres_url() if engine == "postgresql" else f"sqlite:///{tmp_path / 'notes.db'}"
    create_tables(url, metadata)
    return url


async def open_notebook(url: str, *, statement_seconds: float = 5.0) -> Notebook:
    return notebook_on(await open_database(url, statement_seconds=statement_seconds), url)


async def notes_of_two(url: str) -> Notebook:
    """With a note of each tenant."""
    opened = await open_notebook(url)
    async with opened.db.transaction(EVERY_TENANT) as tx:
        await tx.execute(opened.add, (ANN, "a", "of-ann"))
        await tx.execute(opened.add, (BOB, "b", "of-bob"))
    return opened


def sql(text: str) -> Statement:
    return Statement(text, (), {})


LIKE_ALL = sql("UPDATE notes SET likes = likes + 1")


async def like_while_hanging(hung: Database, other: Database) -> None:
    """`hung` does nothing within its transaction, until `other` has its lock."""
    async with hung.transaction(EVERY_TENANT) as cut_off:
        await cut_off.execute(LIKE_ALL)
        async with other.transaction(EVERY_TENANT) as tx:
            await tx.execute(LIKE_ALL)
        await cut_off.execute(LIKE_ALL)


def notebook_on(db: Database, url: str) -> Notebook:
    tenant: sa.BindParameter[str] = sa.bindparam("tenant")
    note: sa.BindParameter[str] = sa.bindparam("note")
    one_note = sa.and_(notes.c.tenant_id == tenant, notes.c.id == note)
    return Notebook(
        url=url,
        db=db,
        add=db.compile(notes.insert().values({k: sa.bindparam(k) for k in _ADDED})),
        like=db.compile(
            sa.update(notes).where(one_note).values(likes=notes.c.likes + sa.literal_column("1"))
        ),
        reply=db.compile(replies.insert()),
        drop=db.compile(sa.delete(notes).where(one_note)),
        ids=db.compile(
            sa.select(notes.c.id).where(notes.c.tenant_id == tenant).order_by(notes.c.id)
        ),
        likes=db.compile(sa.select(notes.c.likes).where(one_note)),
        count=db.compile(upsert_add(tallies, ("tenant_id", "name"), "total")),
        totals=db.compile(sa.select(tallies.c.name, tallies.c.total).order_by(tallies.c.name)),
    )


_ADDED = ("tenant_id", "id", "slug")
