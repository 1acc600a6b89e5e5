"""A file is there when it is whole, and never half."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from masthead.base.whole_file import PUBLIC, CannotWrite, FileExists, replacing_file, whole_file


def test_a_failure_leaves_what_was_there_before(tmp_path: Path) -> None:
    path = tmp_path / "site.zip"
    path.write_bytes(b"before")
    with suppress(RuntimeError), whole_file(path) as file:
        file.write(b"half")
        raise RuntimeError
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_until_it_is_whole_the_name_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "site.zip"
    with whole_file(path) as file:
        file.write(b"all of it")
        assert not path.exists()
    assert path.read_bytes() == b"all of it"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_appears_meanwhile_is_replaced_only_if_that_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "site.zip"
    with pytest.raises(FileExists), whole_file(path, replaces=False):
        path.write_bytes(b"another's")
    assert path.read_bytes() == b"another's"
    assert list(tmp_path.iterdir()) == [path]
    with whole_file(path) as file:
        file.write(b"ours")
    assert path.read_bytes() == b"ours"


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    with whole_file(tmp_path / "site.zip"):
        pass
    assert stat.S_IMODE((tmp_path / "site.zip").stat().st_mode) == 0o600


@pytest.mark.parametrize("path", [".", "no-such-folder/site.zip"])
def test_a_place_that_takes_no_file_is_told(tmp_path: Path, path: str) -> None:
    with pytest.raises(CannotWrite), whole_file(tmp_path / path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_public_file_follows_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "redirects.csv"
    before = os.umask(0o027)
    try:
        with whole_file(path, PUBLIC):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_below_the_commands_the_error_is_the_systems(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), replacing_file(tmp_path / "none" / "mail.eml"):
        pass
