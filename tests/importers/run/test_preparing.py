"""Posts are prepared alike in a thread and in a process of its own; a dead one holds up nobody."""

from __future__ import annotations

import multiprocessing

import pytest
from tests.importers.run.exports import post

from masthead.importers.preparing import WORTH_A_PROCESS, Preparing, prepare_all
from masthead.importers.source import SourcePost


@pytest.fixture
def posts() -> list[SourcePost]:
    return [post(number) for number in range(3)]


async def test_a_small_export_starts_no_process(posts: list[SourcePost]) -> None:
    small = Preparing("", WORTH_A_PROCESS - 1)
    assert await small.prepare(posts) == prepare_all(posts, "")
    assert multiprocessing.active_children() == []
    small.close()


async def test_a_large_export_is_prepared_by_a_process(posts: list[SourcePost]) -> None:
    expected = prepare_all(posts, "")
    large = Preparing("", WORTH_A_PROCESS)
    while not multiprocessing.active_children():
        assert await large.prepare(posts) == expected
    for child in multiprocessing.active_children():
        child.kill()
        child.join()
    assert await large.prepare(posts) == expected
    large.close()
    assert multiprocessing.active_children() == []
