"""A migrated database equals one made from today's declarations, and starts may race."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from alembic import command
from tests.databases import create_tables, empty_postgres_url
from tests.storage import notebook

from masthead import clock
from masthead.errors import Unavailable
from masthead.schema import metadata
from masthead.storage.migrate import HEAD, NewerDatabase, migrate, revision_of
from masthead.storage.migrations.render import render_source
from masthead.storage.migrations.run import configuration, newest_revision, sqlite_connection
from masthead.storage.postgres.row_security import create_role
from masthead.storage.urls import sqlite_path

CATALOGUE = {
    "columns": """
        SELECT table_name, column_name, data_type, collation_name, is_nullable, column_default
        FROM information_schema.columns WHERE table_schema = 'public'
    """,
    "indexes": "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "constraints": """
        SELECT conrelid::regclass::text, conname::text, pg_get_constraintdef(oid)
        FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    """,
    "policies": """
        SELECT tablename::text, policyname::text, cmd, qual, with_check
        FROM pg_policies WHERE schemaname = 'public'
    """,
    "row security and grants": """
        SELECT relname::text, relrowsecurity, relforcerowsecurity, relacl::text
        FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
    """,
}


def empty_url(engine: str, tmp_path: Path, name: str = "empty") -> str:
    if engine == "postgresql":
        return empty_postgres_url()
    return f"sqlite:///{tmp_path / name}.db"


async def schema_of(url: str) -> dict[str, list[Any]]:
    path = sqlite_path(url)
    return _sqlite_schema(path) if path is not None else await _postgres_schema(url)


def _sqlite_schema(path: Path) -> dict[str, list[Any]]:
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT type, name, sql FROM sqlite_master "
            "WHERE tbl_name != 'alembic_version' AND sql IS NOT NULL"
        ).fetchall()
    return {f"{kind} {name}": _definition_parts(sql) for kind, name, sql in rows}


def _definition_parts(sql: str) -> list[str]:
    """The parts between a definition's outer commas; the order of a table's columns and
    constraints means nothing."""
    parts, depth = [""], 0
    for character in re.sub(r"\s+", " ", sql):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if (character == "," and depth == 1) or (character == "(" and depth == 1):
            parts.append("")
        elif character == ")" and depth == 0:
            parts.append(")")
        else:
            parts[-1] += character
    return sorted(part.strip() for part in parts)


async def _postgres_schema(url: str) -> dict[str, list[Any]]:
    connection = await asyncpg.connect(url)
    try:
        found = {kind: await connection.fetch(query) for kind, query in CATALOGUE.items()}
    finally:
        await connection.close()
    return {
        kind: sorted(str(tuple(row)) for row in rows if "alembic_version" not in str(tuple(row)))
        for kind, rows in found.items()
    }


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_fresh_equals_migrated(engine: str, tmp_path: Path) -> None:
    fresh, migrated = empty_url(engine, tmp_path, "fresh"), empty_url(engine, tmp_path, "migrated")
    create_tables(fresh, metadata)
    await migrate(migrated)

    expected = await schema_of(fresh)

    assert await schema_of(migrated) == expected
    assert all(expected.values())


async def test_the_revision_before_and_after(engine: str, tmp_path: Path) -> None:
    url = empty_url(engine, tmp_path)
    assert await revision_of(url) is None
    assert await migrate(url) == HEAD
    assert await revision_of(url) == HEAD
    assert await migrate(url) == HEAD


async def test_several_starts_at_once(engine: str, tmp_path: Path) -> None:
    url = empty_url(engine, tmp_path)
    assert await asyncio.gather(*(migrate(url) for _ in range(4))) == [HEAD] * 4


async def test_a_database_of_a_newer_version_is_refused(engine: str, tmp_path: Path) -> None:
    url = empty_url(engine, tmp_path)
    await migrate(url)
    await _run(url, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(NewerDatabase):
        await migrate(url)
    assert await revision_of(url) == "9999"


async def _run(url: str, text: str) -> None:
    path = sqlite_path(url)
    if path is not None:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(text)
        return
    connection = await asyncpg.connect(url)
    await connection.execute(text)
    await connection.close()


async def test_a_server_that_is_down_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        await migrate(f"postgresql://nobody@/nothing?host={tmp_path}")


WORDS_BEFORE_0003 = (
    # As in that version: a document's words are queued until a search.
    "INSERT INTO search_documents VALUES (1, 't', 'posts', 'a', 'x1', 'coast  calm')",
    "INSERT INTO search_documents VALUES (2, 't', 'posts', 'b', 'x1', 'coast storm')",
    "INSERT INTO search_documents VALUES (3, 't', 'posts', 'c', 'x1', 'coast storm')",
    "INSERT INTO search_words (rowid, words) SELECT position, "
    "replace(' ' || words, ' ', ' ' || prefix) FROM search_documents ORDER BY position",
    "DELETE FROM search_pending",
    "UPDATE search_documents SET words = 'winter' WHERE position = 2",
    "UPDATE search_documents SET words = 'winter coast' WHERE position = 2",
    "DELETE FROM search_documents WHERE position = 3",
    "INSERT INTO search_documents VALUES (3, 't', 'posts', 'd', 'x1', 'calm')",
    "INSERT INTO search_documents VALUES (4, 't', 'posts', 'e', 'x1', 'storm')",
    "DELETE FROM search_documents WHERE position = 4",
    "INSERT INTO search_documents VALUES (5, 'u', 'posts', 'f', 'x2', 'coast')",
    "INSERT INTO events VALUES ('u', 1, 0, 'i3', 'n', 'c', 'r', '{\"b\": 1}', 'later')",
    "INSERT INTO events VALUES ('t', 2, 0, 'i2', 'n', 'c', 'r', '{}', 'now')",
    "INSERT INTO events VALUES ('t', 1, 1, 'i1', 'n', 'c', 'r', '{}', 'now')",
)


async def test_0003_keeps_queued_words_and_events(tmp_path: Path) -> None:
    url = empty_url("sqlite", tmp_path)
    path = tmp_path / "empty.db"
    await _migrate_to("0002", url)
    with sqlite_connection(path) as before:
        for statement in WORDS_BEFORE_0003:
            before.exec_driver_sql(statement)

    await migrate(url)

    with closing(sqlite3.connect(path, isolation_level=None)) as connection:

        def found(words: str) -> list[int]:
            query = "SELECT rowid FROM search_words WHERE search_words MATCH ? ORDER BY rowid"
            return [row[0] for row in connection.execute(query, (words,))]

        assert [found(f"x1{word}") for word in ("coast", "calm", "storm", "winter")] == [
            [1, 2],
            [1, 3],
            [],
            [2],
        ]
        assert found('"x1coast x1calm"') == []
        assert found("x2coast") == [5]
        events = connection.execute(
            "SELECT id, payload, created FROM events ORDER BY id"
        ).fetchall()
        assert events == [("i1", "{}", "now"), ("i2", "{}", "now"), ("i3", '{"b": 1}', "later")]
        # What is known of each document is what the index has to forget with it.
        connection.execute("DELETE FROM search_documents")
        connection.execute("INSERT INTO search_words (search_words) VALUES ('integrity-check')")
        assert [found(word) for word in ("x1coast", "x1calm", "x1winter", "x2coast")] == [[]] * 4


async def _migrate_to(revision: str, url: str) -> None:
    path = sqlite_path(url)
    if path is not None:
        with sqlite_connection(path) as connection:
            config = configuration()
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
        return
    script = StringIO()
    command.upgrade(configuration(script), revision, sql=True)
    await _run(url, f"{create_role()};{script.getvalue()}")


async def _read(url: str, query: str) -> list[tuple[Any, ...]]:
    path = sqlite_path(url)
    if path is not None:
        with closing(sqlite3.connect(path)) as connection:
            return connection.execute(query).fetchall()
    connection = await asyncpg.connect(url)
    try:
        return [tuple(row) for row in await connection.fetch(query)]
    finally:
        await connection.close()


DELIVERIES_BEFORE_0005 = {
    # id: state, next attempt, end of the lease
    "held": ("pending", "2026-11-15 08:00:00.000Z", "2026-11-15 08:00:30.000Z"),
    "waiting": ("pending", "2026-11-15 08:00:00.000Z", ""),
    "delivered": ("delivered", "", ""),
}


async def test_0005_keeps_leases(engine: str, tmp_path: Path) -> None:
    url = empty_url(engine, tmp_path)
    await _migrate_to("0004", url)
    await _run(url, "INSERT INTO tenants (tenant_id, id, slug, name) VALUES ('t', 't', 't', 'T')")
    for delivery_id, (state, next_attempt_at, leased_until) in DELIVERIES_BEFORE_0005.items():
        await _run(
            url,
            "INSERT INTO webhook_deliveries "
            "(tenant_id, id, webhook_id, event, state, next_attempt_at, leased_until) VALUES "
            f"('t', '{delivery_id}', 'w', 'post.created', '{state}', '{next_attempt_at}', "
            f"'{leased_until}')",
        )

    await migrate(url)

    leases = await _read(
        url, "SELECT tenant_id, webhook_id, delivery_id, until FROM webhook_leases"
    )
    assert leases == [("t", "w", "held", "2026-11-15 08:00:30.000Z")]
    kept = await _read(url, "SELECT id, state, next_attempt_at FROM webhook_deliveries ORDER BY id")
    assert kept == [
        (each, *DELIVERIES_BEFORE_0005[each][:2]) for each in sorted(DELIVERIES_BEFORE_0005)
    ]


CARTS_BEFORE_0007 = {
    # id: status, items, hours since the last change
    "fresh": ("open", '[{"name": "Pen"}]', 2),
    "old": ("open", '[{"name": "Pen"}]', 30),
    "bare": ("open", "[]", 2),
    "paid": ("paid", '[{"name": "Pen"}]', 2),
    "given-up": ("abandoned", '[{"name": "Pen"}]', 2),
}


async def test_0007_sets_idle_carts_and_content_sources(engine: str, tmp_path: Path) -> None:
    url = empty_url(engine, tmp_path)
    await _migrate_to("0006", url)
    await _run(url, "INSERT INTO tenants (tenant_id, id, slug, name) VALUES ('t', 't', 't', 'T')")
    changed = {
        hours: clock.to_text(clock.now() - timedelta(hours=hours))
        for _, _, hours in CARTS_BEFORE_0007.values()
    }
    for cart_id, (status, items, hours) in CARTS_BEFORE_0007.items():
        await _run(
            url,
            "INSERT INTO carts (tenant_id, id, email, items, status, updated) VALUES "
            f"('t', '{cart_id}', 'a@example.com', '{items}', '{status}', '{changed[hours]}')",
        )
    for post_id, document in (("both", "'{}'"), ("html", "NULL")):
        await _run(
            url,
            "INSERT INTO posts (tenant_id, id, slug, content_json, tags) VALUES "
            f"('t', '{post_id}', '{post_id}', {document}, '[]')",
        )

    await migrate(url)

    carts = await _read(url, "SELECT id, idle_since, abandoned_at FROM carts ORDER BY id")
    assert carts == [
        ("bare", "", ""),
        ("fresh", changed[2], ""),
        ("given-up", "", changed[2]),
        ("old", "", ""),
        ("paid", "", ""),
    ]
    posts = await _read(url, "SELECT id, content_source FROM posts ORDER BY id")
    assert posts == [("both", "json"), ("html", "html")]


async def test_0015_finds_the_threads_of_older_comments(engine: str, tmp_path: Path) -> None:
    url = empty_url(engine, tmp_path)
    await _migrate_to("0014", url)
    await _run(url, "INSERT INTO tenants (tenant_id, id, slug, name) VALUES ('t', 't', 't', 'T')")
    await _run(url, "INSERT INTO posts (tenant_id, id, slug, tags) VALUES ('t', 'p', 'p', '[]')")
    chain = ["NULL", *(f"'c{n}'" for n in range(40))]
    for n, parent in enumerate([*chain, "NULL", "NULL"]):
        status = "pending" if n == 42 else "approved"
        await _run(
            url,
            "INSERT INTO comments (tenant_id, id, post_id, parent_id, status, created) VALUES "
            f"('t', 'c{n}', 'p', {parent}, '{status}', '2026-01-{n:02}')",
        )
    await _run(
        url,
        "INSERT INTO record_counts (tenant_id, collection, counter, bucket, total) VALUES "
        "('t', 'comments', 'post_id,status', 'p\x1fapproved', 42)",
    )

    await migrate(url)

    found = await _read(url, "SELECT id FROM comments WHERE thread_id = 'c0' ORDER BY id")
    assert {each for (each,) in found} == {f"c{n}" for n in range(1, 41)}
    listed = await _read(
        url,
        "SELECT value, record_id FROM listed_values WHERE field = 'threads' ORDER BY record_id",
    )
    assert listed == [("p", "c0"), ("p", "c41")]
    counted = await _read(
        url, "SELECT counter, bucket, total FROM record_counts WHERE collection = 'comments'"
    )
    assert counted == [("post_id,status,shown_as", "p\x1fapproved\x1ftext", 42)]


async def test_0020_counts_pages_by_status_and_queues_them_for_search(
    engine: str, tmp_path: Path
) -> None:
    url = empty_url(engine, tmp_path)
    await _migrate_to("0019", url)
    await _run(url, "INSERT INTO tenants (tenant_id, id, slug, name) VALUES ('t', 't', 't', 'T')")
    for n, status in enumerate(("draft", "published", "draft")):
        await _run(
            url,
            "INSERT INTO pages (tenant_id, id, slug, status) VALUES "
            f"('t', 'p{n}', 'p{n}', '{status}')",
        )
    await _run(
        url,
        "INSERT INTO record_counts (tenant_id, collection, counter, bucket, total) VALUES "
        "('t', 'pages', '', '', 3)",
    )

    await migrate(url)

    counted = await _read(
        url,
        "SELECT counter, bucket, total FROM record_counts WHERE collection = 'pages' "
        "ORDER BY bucket",
    )
    assert counted == [("status", "draft", 2), ("status", "published", 1)]
    queued = await _read(
        url, "SELECT record_id, version FROM search_queue WHERE collection = 'pages' ORDER BY 1"
    )
    assert queued == [("p0", -1), ("p1", -1), ("p2", -1)]


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_0047_counts_who_has_turned_a_newsletter_off(engine: str, tmp_path: Path) -> None:
    url = empty_url(engine, tmp_path)
    await _migrate_to("0046", url)
    await _run(url, "INSERT INTO tenants (tenant_id, id, slug, name) VALUES ('t', 't', 't', 'T')")
    for n, off in enumerate(('["main"]', "[]", '["main", "tides"]')):
        await _run(
            url,
            "INSERT INTO blog_members (tenant_id, id, email, newsletter, newsletters_off) VALUES "
            f"('t', 'm{n}', 'm{n}@example.com', true, '{off}')",
        )

    await migrate(url)

    counted = await _read(
        url,
        "SELECT bucket, total FROM record_counts WHERE collection = 'blog_members' "
        "AND counter = 'each newsletters_off,status,newsletter' ORDER BY bucket",
    )
    assert counted == [("main\x1factive\x1fTrue", 2), ("tides\x1factive\x1fTrue", 1)]


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_0053_counts_posts_with_a_page(engine: str, tmp_path: Path) -> None:
    url = empty_url(engine, tmp_path)
    await _migrate_to("0052", url)
    await _run(url, "INSERT INTO tenants (tenant_id, id, slug, name) VALUES ('t', 't', 't', 'T')")
    for n, status in enumerate(("published", "draft", "published")):
        await _run(
            url,
            "INSERT INTO posts (tenant_id, id, title, slug, status, visibility) VALUES "
            f"('t', 'p{n}', 'P', 'p{n}', '{status}', 'public')",
        )
    await _run(
        url,
        "INSERT INTO record_counts (tenant_id, collection, counter, bucket, total) VALUES "
        "('t', 'posts', 'status,visibility', 'published\x1fpublic', 2)",
    )

    await migrate(url)

    counted = await _read(
        url,
        "SELECT counter, bucket, total FROM record_counts WHERE collection = 'posts' "
        "AND counter LIKE 'status,%' ORDER BY bucket",
    )
    name = "status,visibility,email_only"
    assert counted == [
        (name, "draft\x1fpublic\x1fFalse", 1),
        (name, "published\x1fpublic\x1fFalse", 2),
    ]


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_drafts_are_listed_by_tag_and_author(engine: str, tmp_path: Path) -> None:
    url = empty_url(engine, tmp_path)
    await _migrate_to("0017", url)
    moment = "2026-01-01T00:00:00.000Z"
    for rows in (
        "tenants (tenant_id, id, slug, name) VALUES ('t', 't', 't', 'T')",
        "posts (tenant_id, id, title, slug, status, created)"
        f" VALUES ('t', 'p1', 'A', 'a', 'draft', '{moment}'),"
        f" ('t', 'p2', 'B', 'b', 'published', '{moment}')",
        "listed_values (tenant_id, collection, field, value, created, record_id)"
        f" VALUES ('t', 'posts', 'tags', 'fog', '{moment}', 'p1'),"
        f" ('t', 'posts', 'authors', 'ada', '{moment}', 'p1'),"
        f" ('t', 'posts', 'tags', 'fog', '{moment}', 'p2')",
    ):
        await _run(url, f"INSERT INTO {rows}")

    await migrate(url)

    listed = await _read(
        url,
        "SELECT field, value, created, record_id FROM listed_values"
        " WHERE field LIKE 'draft%' ORDER BY field",
    )
    assert listed == [
        ("draft authors", "ada", moment, "p1"),
        ("draft tags", "fog", moment, "p1"),
    ]


async def test_0042_takes_the_host_from_addresses_of_files(engine: str, tmp_path: Path) -> None:
    url = empty_url(engine, tmp_path)
    await _migrate_to("0041", url)
    for rows in (
        "tenants (tenant_id, id, slug, name) VALUES ('t', 't', 't', 'T')",
        "media (tenant_id, id, file, url) VALUES"
        " ('t', 'm', 'fog.png', 'http://t.shell.invalid:8000/media/m/fog.png')",
    ):
        await _run(url, f"INSERT INTO {rows}")

    await migrate(url)

    assert await _read(url, "SELECT url FROM media") == [("/media/m/fog.png",)]


async def test_0067_lists_through_what_a_file_can_be_read(engine: str, tmp_path: Path) -> None:
    url = empty_url(engine, tmp_path)
    await _migrate_to("0065", url)
    old, saved, later = (f"20{year}-01-01T00:00:00.000Z" for year in ("25", "26", "27"))
    texts = {
        "draft": ("draft", "public", ""),
        "open": ("published", "public", old),
        "late": ("published", "public", later),
        "members": ("published", "members", old),
        "paid": ("published", "paid", old),
    }
    rows = ["tenants (tenant_id, id, slug, name) VALUES ('t', 't', 't', 'T')"]
    for name, (status, visibility, published) in texts.items():
        picture = "/media/paid/a.png" if name == "paid" else ""
        rows += [
            f"media (tenant_id, id, file, uses) VALUES ('t', '{name}', 'a.png', 1)",
            "posts (tenant_id, id, title, slug, status, visibility, published_at, created, updated,"
            f" featured_image) VALUES ('t', 'p-{name}', 'A', '{name}', '{status}', '{visibility}',"
            f" '{published}', '{old}', '{saved}', '{picture}')",
            "listed_values (tenant_id, collection, field, value, created, record_id)"
            f" VALUES ('t', 'posts', 'uses of media', '{name}', '{old}', 'p-{name}')",
        ]
    rows += [
        "media (tenant_id, id, file) VALUES ('t', 'unused', 'a.png')",
        "media (tenant_id, id, file, uses) VALUES ('t', 'logo', 'a.png', 1)",
        "listed_values (tenant_id, collection, field, value, created, record_id)"
        f" VALUES ('t', 'site_settings', 'uses of media', 'logo', '{old}', 's')",
    ]
    for each in rows:
        await _run(url, f"INSERT INTO {each}")

    await migrate(url)

    counts = dict(await _read(url, "SELECT id, open_uses FROM media"))
    assert counts == {
        **dict.fromkeys(("draft", "late", "members"), 0),
        **dict.fromkeys(("open", "paid", "logo"), 1),
        "unused": None,
    }
    listed = await _read(
        url, "SELECT value, field FROM listed_values WHERE field LIKE 'files %' ORDER BY 1, 2"
    )
    assert listed == [
        ("late", "files for everyone later"),
        ("logo", "files for everyone"),
        ("members", "files for members"),
        ("open", "files for everyone"),
        ("paid", "files for everyone"),
        ("paid", "files for paid members"),
    ]
    jobs = await _read(url, "SELECT COUNT(*) FROM jobs WHERE kind = 'media.count_uses'")
    assert jobs == [(1,)]


async def test_a_role_that_is_no_superuser_migrates_the_rows_of_all_tenants() -> None:
    url = empty_postgres_url()
    await _run(
        url,
        "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'migrations_owner') "
        "THEN CREATE ROLE migrations_owner LOGIN CREATEROLE; END IF; END $$;"
        "GRANT ALL ON SCHEMA public TO migrations_owner",
    )
    owned = url.replace("//postgres:", "//migrations_owner:")
    await _migrate_to("0012", owned)
    await _run(url, "INSERT INTO tenants (tenant_id, id, slug, name) VALUES ('t', 't', 't', 'T')")

    await migrate(owned)

    found = await _read(url, "SELECT tenant_id FROM jobs WHERE kind = 'media.copy_all'")
    assert found == [("t",)]


def test_head_is_the_newest_revision() -> None:
    assert newest_revision() == HEAD


def test_a_current_database_loads_no_alembic(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    script = (
        "import asyncio, sys; from masthead.storage.migrate import migrate;"
        f"asyncio.run(migrate({url!r})); sys.exit('alembic' in sys.modules)"
    )
    first, second = (subprocess.run([sys.executable, "-c", script]).returncode for _ in range(2))
    assert (first, second) == (1, 0)


def test_a_rendered_migration_protects_every_table_of_a_tenant() -> None:
    source = render_source(notebook.metadata, "notes")
    assert "op.create_table('notes'" in source
    assert "sa.Column('tags', types.Json()" in source
    assert "share('notes', 'tenant_id')" in source
    compile(source, "rendered", "exec")


def test_nothing_is_left_to_render() -> None:
    """A changed declaration needs a migration."""
    assert "op." not in render_source(metadata, "nothing").partition("def upgrade")[2]
