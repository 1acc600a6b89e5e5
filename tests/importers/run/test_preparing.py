"""Posts are prepared alike in a thread and in a process of its own; a dead one holds up nobody."""

from __future__ import annotations

import asyncio
import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.importers.run.exports import post

from masthead.importers.prepare_process import (
    MOST_PICTURES,
    MOST_REFERENCES,
    MOST_TAGS,
    prepare_all,
)
from masthead.importers.preparing import (
    BYTES_OF_A_POST,
    WORTH_A_PROCESS,
    Preparing,
    prepared_early,
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
    [("<b>", MOST_TAGS), ("a & ", MOST_REFERENCES), ('<IMG src="a.png">', MOST_PICTURES)],
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
    small = Preparing(WORTH_A_PROCESS - 1)
    assert await small.prepare(posts, "") == prepare_all(posts, "")
    assert multiprocessing.active_children() == []
    small.close()


async def test_a_large_export_is_prepared_by_a_process(posts: list[SourcePost]) -> None:
    expected = prepare_all(posts, "")
    large = Preparing(WORTH_A_PROCESS)
    while not multiprocessing.active_children():
        assert await large.prepare(posts, "") == expected
    for child in multiprocessing.active_children():
        child.kill()
        child.join()
    assert await large.prepare(posts, "") == expected
    large.close()
    await _none_left()


async def test_a_large_file_has_its_process_before_it_is_read(tmp_path: Path) -> None:
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(WORTH_A_PROCESS * BYTES_OF_A_POST)
    with prepared_early(large) as preparing:
        assert preparing is not None
        assert len(multiprocessing.active_children()) == 1
    await _none_left()


PROGRAM = """
import asyncio, multiprocessing, sys, threading
from pathlib import Path
from masthead.importers.preparing import prepared_early
from masthead.importers.source import SourcePost

async def work():
    with prepared_early(Path(sys.argv[1])) as preparing:
        (child,) = multiprocessing.active_children()
        print("spawn" if b"spawn" in Path(f"/proc/{child.pid}/cmdline").read_bytes() else "fork")
        (made,) = await preparing.prepare([SourcePost("1", "post", "A", html="<p>b")], "")
        print(made.html)

if __name__ == "__main__":
    if "with threads" in sys.argv:
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    asyncio.run(work())
"""


@pytest.mark.parametrize(("more", "method"), [([], "fork"), (["with threads"], "spawn")])
def test_only_a_process_without_threads_forks(tmp_path: Path, more: list[str], method: str) -> None:
    large, program = tmp_path / "large", tmp_path / "program.py"
    with large.open("wb") as file:
        file.truncate(WORTH_A_PROCESS * BYTES_OF_A_POST)
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), str(large), *more]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert (done.stdout.split(), done.stderr) == ([method, "<p>b</p>"], "")


@pytest.mark.parametrize("size", [None, 0, WORTH_A_PROCESS * BYTES_OF_A_POST - 1])
def test_a_small_file_or_none_has_no_process(tmp_path: Path, size: int | None) -> None:
    path = tmp_path / "small"
    if size is not None:
        with path.open("wb") as file:
            file.truncate(size)
    with prepared_early(path) as preparing:
        assert preparing is None
    with prepared_early(tmp_path) as preparing:
        assert preparing is None


async def _none_left() -> None:
    async with asyncio.timeout(20):
        while multiprocessing.active_children():
            await asyncio.sleep(0.01)
