"""Databases of every released version come up to date with all that was in them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from tests.databases import fresh_url
from tests.storage.test_migrations import schema_of
from tests.upgrade.catalogue import stored_columns
from tests.upgrade.stored import restored, versions

from masthead.base.config.settings import Settings
from masthead.base.version import NUMBER
from masthead.service.app import http_app
from masthead.service.backup.take import LEFT_OUT
from masthead.service.schema import complete_metadata
from masthead.service.services import build
from masthead.storage.migrate import HEAD, OLDEST, OLDEST_VERSION, migrate, revision_of
from masthead.storage.snapshot import open_snapshot

ROOT = Path(__file__).parents[2]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()

MAY_CHANGE: dict[str, frozenset[str]] = {}
"""Columns, by table, that a migration since the first release has rewritten on purpose."""
MAY_GAIN = frozenset({"jobs", "listed_values", "record_counts"})
"""Tables to which a migration adds rows: lists and totals of what exists, and jobs that complete
them."""


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("version", versions())
@pytest.mark.sweep
async def test_a_released_database_keeps_its_data(
    version: str, engine: str, tmp_path: Path
) -> None:
    url = restored(version, engine, tmp_path)
    columns = await columns_of(url)
    before = await rows_of(url, columns)
    assert len(before["posts"]) >= 10

    await migrate(url)

    assert await revision_of(url) == HEAD
    kept = {name: [each for each in names if _stays(name, each)] for name, names in columns.items()}
    after = await rows_of(url, kept)
    for table, names in kept.items():
        positions = [columns[table].index(each) for each in names]
        expected = Counter(repr([row[each] for each in positions]) for row in before[table])
        found = Counter(repr(list(row)) for row in after[table])
        assert expected <= found if table in MAY_GAIN else expected == found, table


@pytest.mark.parametrize("version", versions())
@pytest.mark.sweep
async def test_a_released_database_gets_the_schema_of_today(
    version: str, engine: str, tmp_path: Path
) -> None:
    fresh = fresh_url(engine, tmp_path)
    url = restored(version, engine, tmp_path)
    await migrate(url)

    assert plain(await schema_of(url)) == plain(await schema_of(fresh))


async def test_migrations_begin_with_the_oldest_release(engine: str, tmp_path: Path) -> None:
    assert versions()[0] == OLDEST_VERSION
    assert await revision_of(restored(OLDEST_VERSION, engine, tmp_path)) == OLDEST


def plain(schema: dict[str, list[Any]]) -> dict[str, list[str]]:
    """Without the casts and brackets that PostgreSQL writes into conditions that were dumped."""
    cast = re.compile(r"::(?:text|character varying)(?:\[\])?|[()]|\[\]")
    return {kind: sorted(cast.sub("", str(each)) for each in rows) for kind, rows in schema.items()}


@pytest.mark.parametrize("version", versions())
@pytest.mark.sweep
async def test_the_service_works_on_a_released_database(
    version: str, engine: str, tmp_path: Path
) -> None:
    url = restored(version, engine, tmp_path)
    await migrate(url)
    environ = {"MASTHEAD_SECRET_KEY": "another secret that no session of the demo knows"}
    settings = Settings.from_environ(environ, data_dir=tmp_path / "data", database_url=url)
    parts = await build(settings)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(http_app(parts)), base_url="http://demo.localhost"
    ) as guest:
        home, feed = await guest.get("/"), await guest.get("/feed.xml")
    await parts.close()
    assert (home.status_code, feed.status_code) == (200, 200)
    assert feed.text.count("<item>") >= 10


def test_the_changelog_has_a_section_for_every_release() -> None:
    sections = re.findall(r"^## (\d+\.\d+\.\d+) - \d{4}-\d\d-\d\d$", CHANGELOG, re.MULTILINE)
    assert sections == sorted(sections, reverse=True)
    assert sections == sorted(versions(), reverse=True)
    is_release = "## Unreleased" not in CHANGELOG
    assert is_release == (sections[0] == NUMBER)
    assert is_release or NUMBER.endswith(".dev0")


def _stays(table: str, column: str) -> bool:
    known = complete_metadata().tables[table].c
    return column in known and column not in MAY_CHANGE.get(table, frozenset())


async def columns_of(url: str) -> dict[str, list[str]]:
    """The columns that the database has now, of the tables that we know."""
    stored = await stored_columns(url)
    known = {name for name in complete_metadata().tables if name not in LEFT_OUT}
    return {name: names for name, names in stored.items() if name in known}


async def rows_of(url: str, columns: dict[str, list[str]]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    async with open_snapshot(url) as snapshot:
        for name, names in columns.items():
            table = complete_metadata().tables[name]
            wanted = [table.c[each] if each in table.c else sa.column(each) for each in names]
            rows = snapshot.rows(*wanted)  # type: ignore[arg-type]
            found[name] = [row async for batch in rows for row in batch]
    return found
