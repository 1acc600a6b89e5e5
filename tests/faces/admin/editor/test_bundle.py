"""The editor's bundle is what its source and lock file build, and its parts without a page work."""

from __future__ import annotations

import json
from pathlib import Path

from tests.clients.node import run_node

from masthead.faces import admin

ADMIN = Path(admin.__file__).parent
SOURCE = ADMIN / "editor"
VENDOR = ADMIN / "static" / "vendor"
NAMES = ("editor.js", "unsent.js", "media.js", "editor-licences.txt")


async def test_the_source_builds_the_bundle_byte_for_byte(tmp_path: Path) -> None:
    finished = await run_node(SOURCE / "build.mjs", str(tmp_path))
    assert finished.code == 0, finished.errors
    for name in NAMES:
        assert (tmp_path / name).read_bytes() == (VENDOR / name).read_bytes(), (
            f"{name} is not what the source builds: run `make editor`"
        )


async def test_the_parts_without_a_page_do_what_they_promise() -> None:
    tests = sorted(str(path) for path in (SOURCE / "tests").glob("*.test.ts"))
    assert tests
    finished = await run_node("--test", *tests)
    assert finished.code == 0, finished.output


def test_nothing_in_the_bundle_runs_text_as_code() -> None:
    text = (VENDOR / "editor.js").read_text()
    assert "new Function(" not in text
    assert "eval(" not in text.replace("retrieval(", "")


def test_the_lock_holds_hashes_and_no_registry() -> None:
    packages = json.loads((SOURCE / "package-lock.json").read_text())["packages"]
    installed = {name: package for name, package in packages.items() if name}
    assert installed
    assert all(package["integrity"].startswith("sha512-") for package in installed.values())
    assert not any("resolved" in package for package in installed.values())
    versions = {
        package["version"]
        for name, package in installed.items()
        if name.startswith("node_modules/@tiptap/")
    }
    assert len(versions) == 1
