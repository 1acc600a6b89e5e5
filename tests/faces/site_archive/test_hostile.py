"""An archive may be written by anyone: it is refused in one sentence, and leaves nothing."""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.databases import fresh_url
from tests.every_row import every_row
from tests.faces.site_archive.archives import (
    Entries,
    changed,
    header_of,
    read_entries,
    with_header,
    with_member,
    with_rows,
    with_value,
)
from tests.faces.site_archive.full_site import new_full_site
from tests.service.backup.sites import Installation
from tests.world import RunningClock, World, open_world

from masthead.base.errors import MastheadError
from masthead.faces.site_archive.export import export_site
from masthead.faces.site_archive.importing import import_site
from masthead.identity.tenant_lookup import find_tenant_named
from masthead.service.schema import complete_metadata

HUGE_HASH = "$argon2id$v=19$m=4194304,t=9,p=1$O9iHIQ2FJZkyHVX3RBH41g$c8lCN7Pisv3RaUUQS4y1jw"


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
async def target(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[World]:
    """One for all: what is refused leaves nothing in it."""
    folder = tmp_path_factory.mktemp("target")
    world = await open_world(fresh_url(request.param, folder), folder, RunningClock())
    yield world
    await world.parts.close()


@pytest.fixture(scope="module")
async def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    world = await open_world(fresh_url("sqlite", folder), folder, RunningClock())
    try:
        await new_full_site(world)
        tenant = await find_tenant_named(world.parts.records, "full")
        await export_site(world.parts, tenant, folder / "site.tar")
    finally:
        await world.parts.close()
    return folder / "site.tar"


async def refusal(world: World, path: Path) -> str:
    """The sentence. Nothing is left, in no table and in no folder."""
    with pytest.raises(MastheadError) as refused:
        await import_site(world.parts, path, slug="taken-in")
    left = {name: rows for name, rows in (await every_row(world.parts.database)).items() if rows}
    left.pop("alembic_version", None)
    assert not left, sorted(left)
    assert not [key async for key in world.parts.objects.list_keys()]
    return str(refused.value)


def _add(*more: tuple[str, bytes]) -> Callable[[Entries], Entries]:
    return lambda entries: [*entries, *more]


def _value(table: str, name: str, value: Any) -> Callable[[Entries], Entries]:
    return lambda entries: with_value(entries, table, name, value)


def _header(**values: Any) -> Callable[[Entries], Entries]:
    return lambda entries: with_header(entries, **values)


def _twice(table: str) -> Callable[[Entries], Entries]:
    return lambda entries: with_rows(entries, table, lambda rows: [*rows, rows[0]])


def _bomb(entries: Entries) -> Entries:
    blanks = gzip.compress(b" " * 10_000_000)
    packed = gzip.compress(b"[") + blanks * 30 + gzip.compress(b"]")
    return [*entries, ("tables/posts/000009.jsonl.gz", packed)]


def _injected(entries: Entries) -> Entries:
    tables = header_of(entries)["tables"]
    tables['posts" SELECT 1 --'] = tables["posts"]
    return with_header(entries, tables=tables)


DAMAGED = "The archive is damaged or incomplete. Nothing was imported."
UNNAMED = "The archive has a file that no record names. Nothing was imported."
CASES: dict[str, tuple[Callable[[Entries], Entries], str]] = {
    "a path that leads out": (_add(("objects/../../etc/cron.d/x", b"x")), UNNAMED),
    "an absolute path": (_add(("objects//etc/passwd", b"x")), UNNAMED),
    "a file that no record names": (_add(("objects/media/aaaaaaaaaaaaaaa/x.png", b"x")), UNNAMED),
    "a row of another site": (
        _value("posts", "tenant_id", "aaaaaaaaaaaaaaa"),
        "The archive holds rows of more than one site. Nothing was imported.",
    ),
    "SQL in the name of a table": (_injected, DAMAGED),
    "a newer schema": (_header(revision="9999"), "newer version"),
    "a schema of no released version": (_header(revision="0047"), "No released version"),
    "a newer format": (_header(format=2), "newer version"),
    "no such schema": (_header(revision="x"), "newer version"),
    "an id that is none": (_header(tenant_id="../.."), DAMAGED),
    "rows that unpack to more than the memory": (_bomb, DAMAGED),
    "rows that are none": (_add(("tables/posts/000009.jsonl.gz", b"x")), DAMAGED),
    "a row that is there twice": (_twice("posts"), "does not fit"),
    "a relation to nothing": (_value("comments", "post_id", "aaaaaaaaaaaaaaa"), "refers to a row"),
    "a script as an address": (_value("posts", "featured_image", "javascript:x"), "featured_image"),
    "a file name with a path": (_value("media", "file", "../x"), "media.file"),
    "a hash that takes hours": (
        _value("_superusers", "password_hash", HUGE_HASH),
        "_superusers.password_hash",
    ),
    "a character that can't be stored": (_value("posts", "title", "a\0b"), "posts.title"),
    "a choice that there is not": (_value("posts", "status", "boss"), "posts.status"),
    "a number that is text": (
        _value("payment_refunds", "amount", "much"),
        "payment_refunds.amount",
    ),
    "a document that is none": (_value("posts", "content_json", "{"), DAMAGED),
    "a number beyond all": (_value("posts", "version", 2**70), "does not fit"),
    "two sites": (_twice("tenants"), "does not fit"),
}


REACHES_THE_DATABASE = (
    "a file that no record names",
    "a script as an address",
    "a character that can't be stored",
    "a number that is text",
)
"""The others are refused before anything is written."""


@pytest.mark.parametrize(
    ("target", "what"),
    [
        *(("sqlite", each) for each in CASES),
        *(("postgresql", each) for each in REACHES_THE_DATABASE),
    ],
    indirect=["target"],
)
async def test_a_changed_archive_is_refused(
    target: World, archive: Path, tmp_path: Path, what: str
) -> None:
    change, sentence = CASES[what]
    path = changed(archive, tmp_path / "changed.tar", change)
    said = await refusal(target, path)
    assert sentence in said
    assert said.count("\n") == 0


@pytest.mark.parametrize("target", ["sqlite"], indirect=True)
async def test_a_damaged_archive_is_refused(archive: Path, target: World, tmp_path: Path) -> None:
    content = archive.read_bytes()
    for name, damaged in {
        "cut off": content[:-2_000],
        "changed": content.replace(b"\x89", b"\x88", 1) if b"\x89" in content else content[::-1],
        "with more at its end": content + bytes(512),
    }.items():
        path = tmp_path / f"{name}.tar"
        path.write_bytes(damaged)
        assert await refusal(target, path) == DAMAGED, name
    path.write_bytes(b"PK\3\4 something else")
    assert "not an archive made by" in await refusal(target, path)
    for kind in (
        {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"},
        {"type": tarfile.LNKTYPE, "linkname": "site.json"},
        {"type": tarfile.GNUTYPE_SPARSE, "size": 0},
        {"type": tarfile.GNUTYPE_LONGNAME, "size": 2**40},
        {"type": tarfile.XHDTYPE, "size": 2**40},
        {"type": tarfile.FIFOTYPE},
    ):
        path = with_member(archive, tmp_path / "member.tar", **kind)
        assert await refusal(target, path) == DAMAGED, kind


async def test_a_backup_is_no_site_and_a_site_no_backup(tmp_path: Path, archive: Path) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    other = Installation.empty("sqlite", folder)
    async with other.serving():
        await other.json("backup", str(tmp_path / "backup.tar"))
        refused = await other.command("site", "import", str(tmp_path / "backup.tar"))
    assert (refused.code, "not an archive made by" in refused.err) == (1, True)
    restored = await other.command("backup", "verify", str(archive))
    assert (restored.code, "not a backup" in restored.err) == (1, True)


def test_every_table_of_the_sample_is_in_its_archive(archive: Path) -> None:
    entries = read_entries(archive)
    named = {name.split("/")[1] for name, _ in entries if name.startswith("tables/")}
    assert named == set(header_of(entries)["tables"])
    assert named < set(complete_metadata().tables)
