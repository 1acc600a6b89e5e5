"""Posts are prepared alike in a thread and in a process of its own; a dead one holds up nobody."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Callable
from multiprocessing.process import BaseProcess

import pytest
from msgspec.structs import replace
from tests.faces.importers.write.exports import post

from masthead.faces.importers.source import SourcePost
from masthead.faces.importers.write.preparing import (
    MAX_PICTURES,
    MAX_REFERENCES,
    MAX_TAGS,
    POSTS_FOR_ONE_PROCESS,
    Preparing,
    prepare_all,
)

NewProcesses = Callable[[], set[BaseProcess]]


@pytest.fixture
def new_processes() -> NewProcesses:
    """Those of this test: a service that other tests share may have some."""
    before = set(multiprocessing.active_children())
    return lambda: set(multiprocessing.active_children()) - before


@pytest.fixture
def posts() -> list[SourcePost]:
    return [post(number) for number in range(3)]


@pytest.mark.parametrize(
    ("piece", "most"),
    [("<b>", MAX_TAGS), ("a & ", MAX_REFERENCES), ('<IMG src="a.png">', MAX_PICTURES)],
    ids=["tags", "references", "pictures"],
)
def test_a_text_that_nobody_wrote_fails_alone(
    posts: list[SourcePost], piece: str, most: int
) -> None:
    before, _, after = posts
    odd = replace(posts[1], html=piece * (most + 1))
    first, failed, last = prepare_all([before, odd, after], "")
    assert isinstance(failed, str)
    assert f"{most:,}" in failed
    assert [first, last] == prepare_all([before, after], "")


async def test_a_small_export_starts_no_process(
    posts: list[SourcePost], new_processes: NewProcesses
) -> None:
    small = Preparing(POSTS_FOR_ONE_PROCESS - 1)
    assert await small.prepare(posts, "") == prepare_all(posts, "")
    assert new_processes() == set()
    small.close()


async def test_a_large_export_is_prepared_by_a_process(
    posts: list[SourcePost], new_processes: NewProcesses
) -> None:
    expected = prepare_all(posts, "")
    large = Preparing(POSTS_FOR_ONE_PROCESS)
    while not new_processes():
        assert await large.prepare(posts, "") == expected
    for child in new_processes():
        child.kill()
        child.join()
    assert await large.prepare(posts, "") == expected
    large.close()
    async with asyncio.timeout(120):
        while new_processes():
            await asyncio.sleep(0.01)
