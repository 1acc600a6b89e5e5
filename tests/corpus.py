"""Files from elsewhere that the same tests also run over, if `MASTHEAD_TEST_CORPUS` names their
folder: `wordpress`, `ghost`, `substack`, `payments`, `webhooks` and `filters` in it.

Without the variable nothing outside the repository is read, and no case is left out: every feature
has small files of our own.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

VARIABLE: Final = "MASTHEAD_TEST_CORPUS"
NAMED = os.environ.get(VARIABLE, "")


def hide(config: pytest.Config) -> None:
    """From processes that tests start: the service refuses settings that it does not know."""
    starts_others_that_test = config.getoption("numprocesses", None)
    if not starts_others_that_test:
        os.environ.pop(VARIABLE, None)


def top() -> Path | None:
    if not NAMED:
        return None
    if not Path(NAMED).is_dir():
        raise NotADirectoryError(f"{VARIABLE} names {NAMED}, which is no folder.")
    return Path(NAMED)


def found(*patterns: str) -> list[Path]:
    """Returns the files that match, such as `ghost/*/*.json`, in the order of names; none without
    the folder."""
    folder = top()
    return sorted(path for pattern in patterns for path in folder.glob(pattern)) if folder else []


def name_of(path: Path) -> str:
    """Within the folder."""
    folder = top()
    assert folder
    return path.relative_to(folder).as_posix()
