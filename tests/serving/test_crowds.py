"""More connections than the process may have files, and one that breaks the look at all of them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.serving.peer import echo, request, serving

from masthead.serving.limits import Limits

PROGRAM = """
import resource
from masthead.cli.server import max_connections

resource.setrlimit(resource.RLIMIT_NOFILE, {limits})
print(max_connections(), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(
    ("limits", "expected"),
    [((300, 1000), [872, 1000, 1000]), ((500, 500), [372, 500, 500]), ((100, 100), [64, 100, 100])],
)
def test_as_many_files_are_allowed_as_can_be_and_some_are_kept(
    limits: tuple[int, int], expected: list[int]
) -> None:
    run = [sys.executable, "-c", PROGRAM.format(limits=limits)]
    done = subprocess.run(run, capture_output=True, check=True, text=True)
    assert [int(each) for each in done.stdout.split()] == expected


def test_who_comes_when_it_is_full_is_sent_away_and_the_others_stay() -> None:
    with (
        capture_logs() as lines,
        serving(echo, Limits(max_connections=2)) as served,
        served.connect() as one,
    ):
        with served.connect() as other:
            served.wait_until(lambda: len(served.connections) == 2)
            for _ in range(3):
                with served.connect() as late:
                    assert late.is_closed()
            for each in (one, other):
                each.send(request("/in"))
                assert each.answer().body == b"/in"
            served.look_after(0, 1)
        served.wait_until(lambda: len(served.connections) == 1)
        with served.connect() as next_one:
            next_one.send(request("/next"))
            assert next_one.answer().body == b"/next"
    full = {"event": "server.full", "log_level": "warning", "connections": 2, "refused": 3}
    assert [each for each in lines if each["event"] == "server.full"] == [full]


class Gone:
    """A transport whose socket refuses to be asked."""

    def is_closing(self) -> bool:
        raise OSError


def test_one_that_breaks_the_look_does_not_spare_the_others() -> None:
    gone: Any = Gone()
    kept: list[Any] = []

    def has_broken_it() -> bool:
        for each in served.connections:
            kept.append(each.transport)
            each.transport = gone
        return bool(kept)

    limits = Limits(sweep_seconds=0.01, head_seconds=0.2)
    with capture_logs() as lines, serving(echo, limits) as served, served.connect():
        served.wait_until(has_broken_it)
        broken = served.only_connection()
        served.wait_until(lambda: "connection.failed" in [each["event"] for each in lines])
        with served.connect() as other:
            assert other.is_closed()
        broken.transport = kept[0]
