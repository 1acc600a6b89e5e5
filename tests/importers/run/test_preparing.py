"""Posts are prepared alike in a thread and in a process of its own; a dead one holds up nobody."""

from __future__ import annotations

import asyncio
import multiprocessing

import pytest
from msgspec.structs import replace
from tests.importers.run.exports import post

from masthead.importers.run.preparing import (
    MAX_PICTURES,
    MAX_REFERENCES,
    MAX_TAGS,
    POSTS_FOR_ONE_PROCESS,
    Preparing,
    prepare_all,
)
from masthead.importers.source import SourcePost


@pytest.fixture(autouse=True)
async def processes_of_other_tests() -> None:
    """They end by themselves, and nobody waits for that but us."""
    await _none_left()


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


async def test_a_small_export_starts_no_process(posts: list[SourcePost]) -> None:
    small = Preparing(POSTS_FOR_ONE_PROCESS - 1)
    assert await small.prepare(posts, "") == prepare_all(posts, "")
    assert multiprocessing.active_children() == []
    small.close()


async def test_a_large_export_is_prepared_by_a_process(posts: list[SourcePost]) -> None:
    expected = prepare_all(posts, "")
    large = Preparing(POSTS_FOR_ONE_PROCESS)
    while not multiprocessing.active_children():
        assert await large.prepare(posts, "") == expected
    for child in multiprocessing.active_children():
        child.kill()
        child.join()
    assert await large.prepare(posts, "") == expected
    large.close()
    await _none_left()


async def _none_left() -> None:
    async with asyncio.timeout(20):
        while multiprocessing.active_children():
            await asyncio.sleep(0.01)
