"""A worker that was killed leaves no copy of an upload for long."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from masthead.faces.importers.files.work_folder import delete_abandoned, work_folder

WORKER = """
import sys, tempfile
from masthead.faces.importers.files.work_folder import work_folder
tempfile.tempdir = sys.argv[1]
with work_folder() as folder:
    (folder / "export.json").write_text("addresses")
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_is_deleted_when_it_is_no_longer_used(temporary: Path) -> None:
    with work_folder() as folder:
        (folder / "export.json").write_text("addresses")
    assert list(temporary.iterdir()) == []


def test_a_folder_is_left_alone_while_its_process_lives_and_deleted_after_a_kill(
    temporary: Path,
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, str(temporary)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        copy = Path(process.stdout.readline().strip()) / "export.json"
        delete_abandoned()
        assert copy.exists()
        process.kill()
        process.wait()
        assert copy.exists()
        delete_abandoned()
    assert list(temporary.iterdir()) == []


def test_nothing_else_is_deleted(temporary: Path) -> None:
    other = temporary / "other"
    other.mkdir()
    (other / "file").write_text("")
    (temporary / "masthead-import-link").symlink_to(other)
    (temporary / "masthead-import-file").write_text("")
    before = sorted(temporary.rglob("*"))
    delete_abandoned()
    assert sorted(temporary.rglob("*")) == before
