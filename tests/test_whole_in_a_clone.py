"""Nothing outside the repository is needed or read, unless the variable names a folder."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests import corpus

TOP = Path(__file__).parents[1]
UP = re.compile(r"__file__\)(?:\.resolve\(\))?\.parents\[(\d+)\]")


def test_no_test_looks_beside_the_repository() -> None:
    for path in (TOP / "tests").rglob("*.py"):
        if "node_modules" in path.parts:
            continue
        depth = len(path.relative_to(TOP).parts) - 1
        steps = [int(number) for number in UP.findall(path.read_text())]
        assert max(steps, default=0) <= depth, path


def test_without_the_variable_there_are_no_other_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "NAMED", "")
    assert corpus.found("**/*") == []


def test_files_of_the_named_folder_are_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "ghost/own").mkdir(parents=True)
    (tmp_path / "ghost/own/a.json").touch()
    monkeypatch.setattr(corpus, "NAMED", str(tmp_path))
    assert [corpus.name_of(each) for each in corpus.found("ghost/*/*.json")] == ["ghost/own/a.json"]


def test_a_folder_that_is_not_there_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(corpus, "NAMED", str(tmp_path / "gone"))
    with pytest.raises(NotADirectoryError, match="gone"):
        corpus.found("*")


def test_the_service_is_not_told_of_it() -> None:
    assert corpus.VARIABLE not in os.environ
