"""A migrated database equals one made from today's declarations, and starts may race."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from io import StringIO
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from alembic import command
from alembic.script import ScriptDirectory
from tests.databases import create_tables, empty_postgres_url
from tests.storage import notebook
from tests.upgrade.catalogue import stored_columns

from masthead.base.errors import NewerDatabase, Unavailable
from masthead.base.ids import is_id
from masthead.service.schema import complete_metadata
from masthead.storage.migrate import (
    _LOCK_KEY,
    HEAD,
    OLDEST,
    NeverReleased,
    migrate,
    revision_of,
    sqlite_schema,
)
from masthead.storage.migrations.render import render_source
from masthead.storage.migrations.run import configuration, postgres_script, sqlite_connection
from masthead.storage.migrations.squash import squash
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
    # SQLite quotes the name of a table that a migration had to make again.
    return {f"{kind} {name}": _definition_parts(sql.replace('"', "")) for kind, name, sql in rows}


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
    create_tables(fresh, complete_metadata())
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


async def test_a_start_sees_what_the_process_it_waited_for_has_made() -> None:
    url = empty_postgres_url()
    other = await asyncpg.connect(url)
    try:
        async with other.transaction():
            await other.execute("SELECT pg_advisory_xact_lock($1)", _LOCK_KEY)
            start = asyncio.create_task(migrate(url))
            while not await other.fetchval(
                "SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'advisory'"
                " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            ):
                await asyncio.sleep(0.01)
            # Little, because many changes would make PostgreSQL tell the waiting process.
            await other.execute("CREATE TABLE alembic_version (version_num text)")
            await other.execute("INSERT INTO alembic_version VALUES ($1)", HEAD)
        assert await start == HEAD
    finally:
        await other.close()


async def test_a_database_of_a_newer_version_is_refused(engine: str, tmp_path: Path) -> None:
    url = empty_url(engine, tmp_path)
    await migrate(url)
    await _run(url, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(NewerDatabase):
        await migrate(url)
    assert await revision_of(url) == "9999"


async def test_a_database_of_no_released_version_is_refused(engine: str, tmp_path: Path) -> None:
    url = empty_url(engine, tmp_path)
    await migrate(url)
    await _run(url, "UPDATE alembic_version SET version_num = '0047'")
    with pytest.raises(
        NeverReleased, match=r"revision 0047.*`masthead migrate` of version 0\.1\.0"
    ):
        await migrate(url)
    assert await revision_of(url) == "0047"


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


async def _migrate_to(revision: str, url: str) -> None:
    path = sqlite_path(url)
    if path is not None:
        sqlite_schema(path, revision)
        return
    await _run(url, f"{create_role()};{postgres_script(None, revision)}")


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


async def test_0078_makes_a_tag_of_each_that_posts_have(engine: str, tmp_path: Path) -> None:
    url = empty_url(engine, tmp_path)
    await _migrate_to("0077", url)
    rows = [
        f"tenants (tenant_id, id, slug, name) VALUES ('{each}', '{each}', '{each}', 'T')"
        for each in "tu"
    ]
    for tenant, tag, status, total in (
        ("t", "sea", "draft", 1),
        ("t", "sea", "published", 2),
        ("t", "Sea", "published", 1),
        ("t", "gone", "published", 0),
        ("u", "sea", "draft", 1),
    ):
        rows.append(
            "record_counts (tenant_id, collection, counter, bucket, total) VALUES"
            f" ('{tenant}', 'posts', 'each tags,status', '{tag}\x1f{status}', {total})"
        )
    for each in rows:
        await _run(url, f"INSERT INTO {each}")

    await migrate(url)

    made = await _read(url, "SELECT tenant_id, name, slug, version FROM tags ORDER BY 1, 2")
    assert made == [("t", "Sea", "", 1), ("t", "sea", "", 1), ("u", "sea", "", 1)]
    ids = [each for (each,) in await _read(url, "SELECT id FROM tags")]
    assert all(is_id(each) for each in ids)
    assert len(set(ids)) == 3
    counted = "SELECT tenant_id, total FROM record_counts WHERE collection = 'tags' ORDER BY 1"
    assert await _read(url, counted) == [("t", 2), ("u", 1)]
    jobs = "SELECT tenant_id FROM jobs WHERE kind = 'tags.make_slugs' ORDER BY 1"
    assert await _read(url, jobs) == [("t",), ("u",)]


async def test_0078_reads_the_posts_of_an_archive_without_totals(tmp_path: Path) -> None:
    url = empty_url("sqlite", tmp_path)
    await _migrate_to("0077", url)
    await _run(url, "INSERT INTO tenants (tenant_id, id, slug, name) VALUES ('t', 't', 't', 'T')")
    for number, tags in enumerate(('["sea", "fog"]', '["fog"]', "[]")):
        await _run(
            url,
            "INSERT INTO posts (tenant_id, id, title, slug, tags, created)"
            f" VALUES ('t', 'p{number}', 'A', 'a{number}', '{tags}', '2026-01-01')",
        )
    await migrate(url)
    made = await _read(url, "SELECT name FROM tags ORDER BY 1")
    assert made == [("fog",), ("sea",)]


async def test_0095_asks_every_site_to_put_its_titles_in_order(engine: str, tmp_path: Path) -> None:
    url = empty_url(engine, tmp_path)
    await _migrate_to("0094", url)
    for each in "tu":
        row = f"VALUES ('{each}', '{each}', '{each}', 'T')"
        await _run(url, f"INSERT INTO tenants (tenant_id, id, slug, name) {row}")
    await migrate(url)
    jobs = "SELECT tenant_id FROM jobs WHERE kind = 'texts.order' ORDER BY 1"
    assert await _read(url, jobs) == [("t",), ("u",)]


async def test_0096_gives_open_changes_the_translations_of_their_text(
    engine: str, tmp_path: Path
) -> None:
    """They would go live without any."""
    url = empty_url(engine, tmp_path)
    await _migrate_to("0095", url)
    for table, columns, row in (
        ("tenants", "tenant_id, id, slug, name", "'t', 't', 't', 'T'"),
        ("posts", "tenant_id, id, title, slug, translations", "'t', 'p', 'P', 'p', '[1]'"),
        ("post_working_copies", "tenant_id, id, post_id, title, slug", "'t', 'w', 'p', 'P', 'p'"),
    ):
        await _run(url, f"INSERT INTO {table} ({columns}) VALUES ({row})")
    await migrate(url)
    [(found,)] = await _read(url, "SELECT translations FROM post_working_copies")
    assert found in ("[1]", [1])


async def test_a_role_that_is_no_superuser_migrates_the_rows_of_all_tenants() -> None:
    url = empty_postgres_url()
    await _run(
        url,
        "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'migrations_owner') "
        "THEN CREATE ROLE migrations_owner LOGIN CREATEROLE; END IF; END $$;"
        "GRANT ALL ON SCHEMA public TO migrations_owner",
    )
    owned = url.replace("//postgres:", "//migrations_owner:")
    await _migrate_to(OLDEST, owned)
    await _run(url, "INSERT INTO tenants (tenant_id, id, slug, name) VALUES ('t', 't', 't', 'T')")

    await migrate(owned)

    found = await _read(url, "SELECT tenant_id FROM jobs WHERE kind = 'media.count_uses'")
    assert found == [("t",)]


async def test_0081_keeps_the_gift_cards_that_are_there(engine: str, tmp_path: Path) -> None:
    url = empty_url(engine, tmp_path)
    await _migrate_to("0080", url)
    await _run(url, "INSERT INTO tenants (tenant_id, id, slug, name) VALUES ('t', 't', 't', 'T')")
    await _run(
        url,
        "INSERT INTO gift_cards (tenant_id, id, code, amount, currency, email, redeemed, created, "
        "updated, version) VALUES ('t', 'g', 'GIFT-1', 500, 'eur', 'a@b.example', true, 'c', 'u', "
        "3)",
    )

    await migrate(url)

    columns = "code, amount, currency, email, redeemed, created, updated, version, kind, tier_id"
    ((*kept, kind, tier_id),) = await _read(url, f"SELECT {columns} FROM gift_cards")
    assert kept == ["GIFT-1", 500, "eur", "a@b.example", True, "c", "u", 3]
    assert (kind, tier_id) == ("amount", None)


def test_the_newest_and_the_oldest_revision() -> None:
    scripts = ScriptDirectory.from_config(configuration())
    assert (scripts.get_current_head(), scripts.get_base()) == (HEAD, OLDEST)


async def test_squashed_migrations_make_the_same_schema(engine: str, tmp_path: Path) -> None:
    fresh, migrated = empty_url(engine, tmp_path, "fresh"), empty_url(engine, tmp_path, "migrated")
    await migrate(migrated)
    folder = tmp_path / "versions"
    folder.mkdir()
    (folder / "r0001_initial.py").touch()

    squash(complete_metadata(), "1.2.3", folder)

    await _create(fresh, folder)
    assert await schema_of(fresh) == await schema_of(migrated)
    assert await stored_columns(fresh) == await stored_columns(migrated)
    assert await revision_of(fresh) == HEAD
    names = ("py", "postgresql.sql", "sqlite.sql")
    assert {each.name for each in folder.glob("r*")} == {
        f"r{HEAD}_version_1_2_3.{each}" for each in names
    }


async def _create(url: str, folder: Path) -> None:
    """With the migrations in the folder."""
    path, script = sqlite_path(url), StringIO()
    config = configuration(script)
    config.set_main_option("version_locations", str(folder))
    if path is not None:
        with sqlite_connection(path) as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
        return
    command.upgrade(config, "head", sql=True)
    await _run(url, f"{create_role()};{script.getvalue()}")


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
    assert "op." not in render_source(complete_metadata(), "nothing").partition("def upgrade")[2]
