"""`masthead export-site`."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from tests.service.cli.commands import Masthead

from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.features.posts.collection import posts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty one: `tmp_path` may hold the database."""
    made = tmp_path / "out"
    made.mkdir()
    return made


@pytest.fixture
def tenant_id(masthead: Masthead) -> str:
    made = masthead.tenant("acme")

    async def write(parts):
        caller = system(TenantId(made["tenant_id"]))
        await parts.records.create(caller, posts, {"title": "Hello", "status": "published"})

    masthead.inside(write)
    masthead.json("member", "create", "--tenant", "acme", "--email", "ann@example.com")
    return str(made["tenant_id"])


@pytest.mark.parametrize("form", ["wxr", "ghost", "csv", "html"])
def test_writes_the_file_and_prints_its_counts(
    masthead: Masthead, tenant_id: str, folder: Path, form: str
) -> None:
    path = folder / "site"
    printed = masthead.json(
        "export-site", "--format", form, "--tenant-id", tenant_id, "--output", str(path)
    )
    has_members = form in ("ghost", "csv")
    assert printed == {
        "format": form,
        "output": str(path),
        "posts": 1,
        "pages": 0,
        "members": int(has_members),
        "media": 0,
        "missing_files": 0,
        "bytes": path.stat().st_size,
    }
    assert list(folder.iterdir()) == [path]
    assert zipfile.is_zipfile(path) == (form != "wxr")


def test_takes_a_slug_and_prints_a_sentence(
    masthead: Masthead, tenant_id: str, folder: Path
) -> None:
    path = folder / "site.xml"
    done = masthead("export-site", "--format", "wxr", "--tenant-id", "acme", "--output", str(path))
    assert done.code == 0
    assert done.err == ""
    size = path.stat().st_size
    assert done.out == f"Wrote 0 media files, 1 post, 0 pages to {path} ({size:,} bytes).\n"
    assert "http://acme.localhost:8000/posts/hello" in path.read_text()


@pytest.mark.parametrize(
    "command", ["export-site --format wxr --tenant acme --output", "site export --tenant acme"]
)
def test_an_existing_file_is_replaced_only_if_that_is_wanted(
    masthead: Masthead, tenant_id: str, folder: Path, command: str
) -> None:
    path = folder / "site"
    path.write_text("mine")
    refused = masthead(*command.split(), str(path))
    assert (refused.code, refused.out) == (1, "")
    expected = f"masthead: {path} exists already. Name a new file, or add --replace.\n"
    assert refused.err == expected
    assert path.read_text() == "mine"
    assert masthead(*command.split(), str(path), "--replace").code == 0
    assert path.stat().st_size > 1_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "wxr", "--tenant-id", "nobody", "--output", "{}/x"], "no tenant 'nobody'"),
        (["--format", "wxr", "--tenant-id", "acme", "--output", "{}"], "is a folder"),
        (["--format", "wxr", "--tenant-id", "acme", "--output", "{}/no/x"], "can't be written"),
    ],
)
def test_an_error_is_printed_and_leaves_no_file(
    masthead: Masthead, tenant_id: str, folder: Path, arguments: list[str], message: str
) -> None:
    done = masthead("export-site", *(each.format(folder) for each in arguments))
    assert done.code == 1
    assert message in done.err
    assert list(folder.iterdir()) == []


def test_an_unknown_format_is_wrong_usage(masthead: Masthead, tmp_path: Path) -> None:
    done = masthead(
        "export-site", "--format", "pdf", "--tenant-id", "acme", "--output", str(tmp_path / "x")
    )
    assert done.code == 2
