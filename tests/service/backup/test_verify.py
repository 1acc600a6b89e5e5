"""`masthead backup verify` finds an archive that could not be used, before the day it is needed."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from tests.service.backup.sites import Installation
from tests.world import records_of

from masthead.service.backup import archive
from masthead.storage import archives

pytestmark = pytest.mark.sweep

SECRET = "sk-of-the-tenant"
NOT_WHOLE = "masthead: The archive is damaged or not complete. Take another backup.\n"


async def taken(engine: str, folder: Path) -> tuple[Installation, Path]:
    original = Installation.empty(engine, folder)
    file = folder / "backup.tar"
    async with original.serving() as world:
        tenant = await world.new_tenant("demo")
        await tenant.settings(ai_api_key=SECRET)
        owner = await tenant.owner()
        for number in range(2):
            content = b"text" * (500 + number)
            await owner.api.post(records_of("media"), files={"file": (f"{number}.txt", content)})
        await original.json("backup", str(file))
    return original, file


def rewritten(
    file: Path, target: Path, *, replaced: dict[str, bytes], without: str = "nothing"
) -> Path:
    """Another archive, whose checksums are right."""
    with tarfile.open(file) as tar, target.open("wb") as written:
        writer = archives.ArchiveWriter(written, 0)
        for each in tar.getmembers():
            opened = tar.extractfile(each)
            assert opened is not None
            if each.name != archives.SUMS and not each.name.startswith(without):
                writer.add(each.name, replaced.get(each.name, opened.read()))
        writer.finish()
        writer.close()
    return target


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_a_whole_archive_needs_no_installation(engine: str, tmp_path: Path) -> None:
    original, file = await taken(engine, tmp_path)
    elsewhere = Installation.empty("sqlite", tmp_path / "elsewhere")
    found = await elsewhere.json("backup", "verify", str(file))
    assert not elsewhere.data_dir.exists()
    assert (found["bytes"], found["media"]) == (file.stat().st_size, 2)
    assert (found["missing_files"], found["unreadable_secrets"]) == (0, 0)
    target = Installation.empty(engine, tmp_path / "target")
    assert found["records"] == (await target.json("restore", str(file)))["records"]
    shown = await original.command("backup", "verify", str(file))
    assert f"{file} is whole: " in shown.out


async def test_a_changed_byte_is_found(tmp_path: Path) -> None:
    original, file = await taken("sqlite", tmp_path)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    refused = await original.command("backup", "verify", str(file))
    assert (refused.code, refused.out, refused.err) == (1, "", NOT_WHOLE)
    file.write_bytes(content[: len(content) // 2])
    assert (await original.command("backup", "verify", str(file))).err == NOT_WHOLE
    file.write_text("no archive")
    refused = await original.command("backup", "verify", str(file))
    assert "not a backup made by" in refused.err


async def test_a_root_secret_that_reads_nothing_is_found(tmp_path: Path) -> None:
    original, file = await taken("sqlite", tmp_path)
    other = {archive.SECRETS: b"t" * 40 + b"\n"}
    wrong = rewritten(file, tmp_path / "wrong.tar", replaced=other)
    refused = await original.command("backup", "verify", str(wrong))
    assert refused.code == 1
    assert "can't read the stored secrets" in refused.err


async def test_files_that_are_not_in_it_are_counted(tmp_path: Path) -> None:
    original, file = await taken("sqlite", tmp_path)
    empty = rewritten(file, tmp_path / "empty.tar", replaced={}, without=archives.OBJECTS)
    found = await original.json("backup", "verify", str(empty))
    assert (found["media"], found["missing_files"]) == (0, 2)


async def test_one_file_is_named(tmp_path: Path) -> None:
    original = Installation.empty("sqlite", tmp_path)
    for words in (("verify",), ("a.tar", "b.tar"), ("verify", "a.tar", "b.tar"), ()):
        refused = await original.command("backup", *words)
        assert (refused.code, refused.out) == (2, ""), words
    missing = await original.command("backup", "verify", str(tmp_path / "none.tar"))
    assert (missing.code, "can't be read" in missing.err) == (1, True)
