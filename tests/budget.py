"""The budget of `make test`: no test takes more than two seconds, unless it is marked `slow` with a
reason. A run shows its ten slowest tests, names those that are too slow, and fails if one takes
more than six: memory and new processes cost twice as much in some virtual machines, which no
comparison of processors shows.

A busy machine makes every test slow, and must not fail a run. So not the time that passes is
counted, but what the test is to blame for: the seconds of the processor that it used, with the
processes that it started and ended; or, if that is more, the seconds in which it waited while the
cores were idle. The browser's own work is left out: the longer a page waits for a busy machine, the
more it does. The seconds are divided by how much slower the processor is than the one for which the
two were chosen.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator
from functools import cache, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import pytest
from _pytest.terminal import TerminalReporter

P, T = ParamSpec("P"), TypeVar("T")

LIMIT = 2.0
FAILING = 3 * LIMIT
SHOWN = 10

_LOOP_SECONDS = 0.035
"""The time of `_loop` on the machine for which the two seconds were chosen."""
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
        slowness()
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

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        is_failing = any(seconds > FAILING for _, seconds, _ in self._too_slow)
        if is_failing and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        write = terminalreporter.write_line
        total = sum(seconds for _, seconds, _ in self._times)
        write(f"{total:.0f} s in all, without what the machine is to blame for; the slowest:")
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
        self._began = _clocks()

    def seconds_since(self) -> float:
        """Without what the machine is to blame for."""
        passed, used, idle = (now - then for now, then in zip(_clocks(), self._began, strict=True))
        return min(passed, max(used, idle)) / slowness()


def _clocks() -> tuple[float, float, float]:
    """The time, the processor's seconds of this process and of those that it started and that have
    ended, and those of idle cores."""
    ended = os.times()
    used = time.process_time() + ended.children_user + ended.children_system
    return time.perf_counter(), used, idle_seconds()


def idle_seconds() -> float:
    """The seconds so far in which the machine's cores had nothing to do, on average."""
    try:
        return float(Path("/proc/uptime").read_text().split()[1]) / (os.cpu_count() or 1)
    except OSError:
        return 0.0


@cache
def slowness() -> float:
    """How much slower this processor is, if it is."""
    return max(1.0, min(_loop() for _ in range(5)) / _LOOP_SECONDS)


def is_allowed(node: Any) -> bool:
    """Whether it is marked, with a reason."""
    mark = node.get_closest_marker("slow")
    return mark is not None and bool(mark.args)


def _loop() -> float:
    """Seconds of the processor for a little work."""
    began = time.thread_time()
    sum(each * each for each in range(400_000))
    return time.thread_time() - began
