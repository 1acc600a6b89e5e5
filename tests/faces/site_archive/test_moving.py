"""`masthead site export` and `site import`: one site, whole, in another installation."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from tests.faces.site_archive.full_site import Site, new_full_site, new_names, read_all, renamed
from tests.service.backup.sites import Installation

from masthead.engine.records.collection import Record

PASSPHRASE = "correct horse battery"
RENEWED = {
    "_superusers": ("token_key",),
    "blog_members": ("token_key",),
    "site_settings": ("former_link_keys", "code_allowed"),
    "tags": ("slug",),
    "tenants": ("per_minute", "per_hour", "per_day", "mails_per_month"),
}
"""Sessions end, limits and the permission for code are given anew, slugs of tags are made of their
names, and the keys of links are joined by those of the installation that it leaves."""


def installation(engine: str, folder: Path, **environment: str) -> Installation:
    folder.mkdir()
    # The addresses in the sample's texts are those of this one.
    environment = {"MASTHEAD_BASE_URL": "http://localhost", **environment}
    return Installation.empty(engine, folder, **environment)


async def moved(source: Installation, target: Installation, file: Path, *more: str) -> Any:
    given = ("--passphrase", PASSPHRASE)
    await source.json("site", "export", "--tenant", "full", *given, str(file))
    return await target.json("site", "import", *given, *more, str(file))


def assert_same(old: Site, new: Site, *texts: tuple[str, str]) -> None:
    names = new_names(old, new)
    assert len(set(names.values())) == len(names)
    assert not set(names) & set(names.values())
    for table, records in old.items():
        expected = [renamed(each, names, *texts) for each in records]
        assert_records(table, expected, new[table], names)


def assert_records(
    table: str, expected: list[Record], found: list[Record], names: dict[str, str]
) -> None:
    def order(record: Record) -> str:
        return json.dumps(record, sort_keys=True, default=repr)

    without = RENEWED.get(table, ())
    for each in (*expected, *found):
        for name in without:
            each.pop(name, None)
    for was, now in zip(sorted(expected, key=order), sorted(found, key=order), strict=True):
        # A file's content names its old key.
        assert now == {**was, **({"files": now["files"]} if "files" in was else {})}, table


@pytest.mark.sweep
async def test_a_site_goes_from_sqlite_to_postgresql_and_back(tmp_path: Path) -> None:
    first = installation("sqlite", tmp_path / "first")
    second = installation("postgresql", tmp_path / "second")
    third = installation("sqlite", tmp_path / "third")
    async with first.serving() as world:
        tenant_id = await new_full_site(world)
        original = await read_all(world, tenant_id)
    assert all(original.values()), [name for name, found in original.items() if not found]
    done = await moved(first, second, tmp_path / "one.tar")
    assert stat.S_IMODE((tmp_path / "one.tar").stat().st_mode) == 0o600
    async with second.serving() as world:
        there = await read_all(world, done["tenant_id"])
    assert_same(original, there)
    back = await moved(second, third, tmp_path / "two.tar")
    async with third.serving() as world:
        again = await read_all(world, back["tenant_id"])
    assert_same(original, again)
    assert (
        done["records"]
        == back["records"]
        == sum(len(found) for found in original.values() if found and "id" in found[0])
    )
    files = [
        sorted(each for item in site["media"] for each in item["files"])
        for site in (original, again)
    ]
    assert files[0] == files[1]
    assert len(files[0]) == 3
