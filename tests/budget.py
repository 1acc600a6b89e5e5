"""The budget of `make test`: no test takes more than two seconds, unless it is marked `slow` with a
reason. A run shows its ten slowest tests and names those that are too slow. It does not fail
because of them: the same test that waits for a browser took 1.5 and 7 seconds in two runs.

A busy machine makes every test slow, and their names would say nothing. So the time that passes
during a test is divided by how much slower it ran than it would have alone, which Linux knows: a
process that could run does so, or waits for a core. Where a test waits for another process, a
server or a browser, the share of its own waiting stands for that of the other; of few milliseconds
that share is no sample, so it is at least that of the whole run so far. The time is then divided by
how much slower the processor is than the one for which the two seconds were chosen. Where the
system does not know, that is left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from functools import cache, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import pytest
from _pytest.terminal import TerminalReporter

P, T = ParamSpec("P"), TypeVar("T")

LIMIT = 2.0
SHOWN = 10

_LOOP_SECONDS = 0.035
"""The time of `_loop` on the machine for which the two seconds were chosen."""
_SCHEDULED = Path("/proc/self/schedstat")
"""Nanoseconds in which the main thread ran, and in which it waited for a core."""
_TIMES = "budget"

Times = list[tuple[str, float, bool]]
"""Names of tests and of what they share, their seconds, and whether these may be more than two."""


def register(config: pytest.Config) -> None:
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        config.pluginmanager.register(Stopwatch())
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Bill())


_once_seconds = 0.0


def once(make: Callable[P, T]) -> Callable[P, T]:
    """Like `functools.cache`, for what is made once in a process: the test that happens to be the
    first to need it does not pay for it."""

    @wraps(make)
    def made(*args: P.args, **named: P.kwargs) -> T:
        global _once_seconds
        began = Moment()
        before = _once_seconds
        try:
            return make(*args, **named)
        finally:
            # One may need another.
            _once_seconds = before + began.seconds_since()

    return cast(Callable[P, T], cache(made))


class Stopwatch:
    """In each process that runs tests: their times travel with their reports."""

    def __init__(self) -> None:
        _slowness()
        self._seconds = 0.0
        self._depth = 0
        self._shared: Times = []

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        """A fixture that the tests of a file share has a line and two seconds of its own. One
        that all tests of a process share counts for no test."""
        if fixturedef.scope == "function" or self._depth:
            return (yield)
        before = self._seconds
        self._depth += 1
        try:
            return (yield from self._timed())
        finally:
            self._depth -= 1
            seconds = self._seconds - before
            # The test around it counts them, too.
            self._seconds = before - seconds
            if fixturedef.scope != "session":
                name = f"{fixturedef.baseid}, {fixturedef.argname}"
                self._shared.append((name, seconds, is_allowed(request.node)))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, object, object]:
        self._seconds, self._shared = 0.0, []
        return (yield from self._timed())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        return (yield from self._timed())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        before = self._seconds
        try:
            return (yield from self._timed())
        finally:
            if nextitem is None or nextitem.path != item.path:
                self._seconds = before  # it ended what the file shares
            times = [*self._shared, (item.nodeid, max(0.0, self._seconds), is_allowed(item))]
            item.user_properties.append((_TIMES, times))

    def _timed(self) -> Generator[None, object, object]:
        began = Moment()
        before = _once_seconds
        try:
            return (yield)
        finally:
            self._seconds += max(0.0, began.seconds_since() - (_once_seconds - before))


class Bill:
    """In the process that reports."""

    def __init__(self) -> None:
        self._times: Times = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            for name, value in report.user_properties:
                if name == _TIMES:
                    self._times += value

    @property
    def _too_slow(self) -> Times:
        return [each for each in self._times if each[1] > LIMIT and not each[2]]

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        write = terminalreporter.write_line
        total = sum(seconds for _, seconds, _ in self._times)
        write(f"{total:.0f} s in all, as on a machine that does nothing else; the slowest:")
        slowest = sorted(self._times, key=lambda each: -each[1])
        for name, seconds, _ in slowest[:SHOWN]:
            write(f"{seconds:6.1f} s {name}")
        for name, seconds, _ in self._too_slow:
            write(
                f"over {LIMIT:.0f} s: {name} ({seconds:.1f} s). Make it cheaper, leave it to"
                " `make test-sweeps` (`sweep`), or give a reason (`slow`): see CONTRIBUTING.md",
                red=True,
            )


class Moment:
    def __init__(self) -> None:
        self._at = time.perf_counter()
        self._scheduled = _scheduled()

    def seconds_since(self) -> float:
        """As on a machine that does nothing else."""
        seconds = time.perf_counter() - self._at
        return seconds * share_alone(self._scheduled, _scheduled()) / _slowness()


def share_alone(then: tuple[int, int], now: tuple[int, int]) -> float:
    """The part of the time that would have passed without others, by what ran and what waited."""
    here, so_far = (now[0] - then[0], now[1] - then[1]), now
    return min(ran / (ran + waited) if ran else 1.0 for ran, waited in (here, so_far))


@cache
def _slowness() -> float:
    """How much slower this processor is, if it is."""
    return max(1.0, min(_loop() for _ in range(5)) / _LOOP_SECONDS)


def is_allowed(node: Any) -> bool:
    """Whether it is marked, with a reason."""
    mark = node.get_closest_marker("slow")
    return mark is not None and bool(mark.args)


def _scheduled() -> tuple[int, int]:
    try:
        ran, waited, _ = _SCHEDULED.read_text().split()
    except OSError:
        return 0, 0
    return int(ran), int(waited)


def _loop() -> float:
    """Seconds of the processor for a little work."""
    began = time.thread_time()
    sum(each * each for each in range(400_000))
    return time.thread_time() - began
