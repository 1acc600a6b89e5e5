"""Record ids: their shape, and that none comes twice, whichever process or thread makes it."""

from __future__ import annotations

import multiprocessing
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from masthead.base import ids


def _some(_number: int = 0) -> list[str]:
    return [ids.new_id() for _ in range(2_000)]


def test_ids_have_the_shape() -> None:
    assert all(ids.is_id(each) for each in _some())


def test_every_character_has_the_same_probability() -> None:
    counted = Counter("".join(ids.new_id() for _ in range(20_000)))
    assert set(counted) == set(ids.ALPHABET)
    assert max(counted.values()) < 1.1 * min(counted.values())


def test_ids_of_a_log_follow_the_time() -> None:
    made = [ids.new_log_id() for _ in range(20_000)]
    assert all(ids.is_id(each) for each in made)
    assert len(set(made)) == len(made)
    moments = [each[:8] for each in made]
    assert moments == sorted(moments)
    assert moments[0] < moments[-1]


def test_ids_of_a_log_begin_with_the_milliseconds_since_2026() -> None:
    began = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1_000)
    before = time.time_ns() // 1_000_000
    moment = began + int(ids.new_log_id()[:8], 36)
    assert before <= moment <= time.time_ns() // 1_000_000


def test_threads_never_make_the_same_id() -> None:
    with ThreadPoolExecutor(8) as threads:
        made = [each for some in threads.map(_some, range(16)) for each in some]
    assert len(set(made)) == len(made)


def test_a_forked_process_does_not_repeat_its_parents() -> None:
    ids.new_id()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        theirs = pool.apply(_some)
    assert not set(theirs) & set(_some())
