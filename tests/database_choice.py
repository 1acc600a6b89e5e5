"""Which of the two databases a test of a face runs on.

Faces (the APIs, the admin, the reader's site) never see the database, so each of their tests runs
on one of the two, chosen by its name: both databases meet every face. Everything below the faces
runs on both, and so does a test that is marked `both_databases`: where changes race, count or lock,
the databases differ. `--both-databases` runs every test on both.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

DATABASES = ("sqlite", "postgresql")
TESTS = Path(__file__).parent

FACES = (
    "admin",
    "ai",
    "clients",
    "comments",
    "members",
    "password_reset",
    "reader",
    "record_api",
    "v1",
    "web",
)
"""Folders of `tests`: the APIs, the admin, and the pages of readers and members."""


def add_option(parser: pytest.Parser) -> None:
    parser.addoption(
        "--both-databases", action="store_true", help="also run tests of the faces on both"
    )


def leave_out_the_other_database(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--both-databases"):
        return
    kept, other = [], []
    for each in items:
        (other if is_left_out(each) else kept).append(each)
    if other:
        items[:] = kept
        config.hook.pytest_deselected(items=other)


def is_left_out(item: pytest.Item) -> bool:
    if not is_of_a_face(item.path) or item.get_closest_marker("both_databases"):
        return False
    callspec: Any = getattr(item, "callspec", None)
    given = [each for each in callspec.params.values() if each in DATABASES] if callspec else []
    return bool(given) and given[0] != chosen(name_without_database(item, given[0]))


@cache
def is_of_a_face(path: Path) -> bool:
    return path.is_relative_to(TESTS) and path.relative_to(TESTS).parts[0] in FACES


def name_without_database(item: pytest.Item, database: str) -> str:
    callspec: Any = getattr(item, "callspec", None)
    others = [each for each in callspec.id.split("-") if each != database]
    name = item.nodeid.partition("[")[0]
    return f"{name}[{'-'.join(others)}]"


def chosen(name: str) -> str:
    """The same on every machine and in every run."""
    return DATABASES[crc32(name.encode()) % len(DATABASES)]
