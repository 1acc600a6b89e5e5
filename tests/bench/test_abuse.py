"""The verdict on an attack, and the picture that one of them needs."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from bench.abuse import Latencies, Row, compared, table, truncated_picture
from PIL import Image

CALM = Row("pages", Latencies(1.0, 2.0), Latencies(10.0, 20.0), 100.0, 120.0, {"200": 3})


@pytest.mark.parametrize(
    "worse",
    [
        replace(CALM, attacked=Latencies(10.1, 20.0)),
        replace(CALM, attacked=Latencies(10.0, 20.1)),
        replace(CALM, attacked=Latencies(1.0, 1.0, failed=1)),
        replace(CALM, after=120.1),
    ],
)
def test_one_limit_passed_is_not_met(worse: Row) -> None:
    assert CALM.is_met
    assert not worse.is_met
    assert "NOT MET" in table([CALM, worse])


def test_a_busy_quiet_phase_excuses_nothing() -> None:
    slow = Latencies(500.0, 500.0)
    busy = replace(CALM, quiet=slow, attacked=slow)
    assert busy.is_met
    assert [row.is_met for row in compared([CALM, CALM, busy])] == [True, True, False]


def test_the_picture_tells_its_size_and_has_too_few_pixels() -> None:
    picture = Image.open(io.BytesIO(truncated_picture(200)))
    assert picture.size == (200, 200)
    with pytest.raises(OSError):
        picture.load()
