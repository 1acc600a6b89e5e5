"""The budget of `make test`: no test takes more than two seconds, unless it is marked `slow` with a
reason. A run shows its ten slowest tests and names those that are too slow. A run of several
processes then repeats these by themselves: the same test that waits for a browser took 1.5 and 7
seconds in two such runs. It fails if one is too slow again.

A busy machine makes every test slow, and their names would say nothing. So the time that passes
during a test is divided by how much slower it ran than it would have alone, which Linux knows: a
process that could run does so, or waits for a core. Where a test waits for another process, a
server or a browser, the share of its own waiting stands for that of the other; of few milliseconds
that share is no sample, so it is at least that of the whole run so far. The time is then divided by
how much slower the processor is than the one for which the two seconds were chosen. Where the
system does not know, that is left out.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Generator
from functools import cache, wraps
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

import pytest
from _pytest.terminal import TerminalReporter

P, T = ParamSpec("P"), TypeVar("T")

LIMIT = 2.0
SHOWN = 10

_LOOP_SECONDS = 0.035
"""Of `_loop`, on the machine for which the two seconds were chosen."""
_SCHEDULED = Path("/proc/self/schedstat")
"""Nanoseconds in which the main thread ran, and in which it waited for a core."""
_TIMES = "budget"


class Time(NamedTuple):
    name: str
    """Of a test, or of what the tests of a file share."""
    seconds: float
    is_allowed: bool
    """Whether they may be more than two."""
    test: str
    """The test during which they passed."""


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
        self._shared: list[Time] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        """What the tests of a file share has a line and two seconds of its own. What all tests of a
        process share counts for nobody."""
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
                self._shared.append(Time(name, seconds, is_allowed(request.node), ""))

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
            test = _name(item)
            own = Time(test, max(0.0, self._seconds), is_allowed(item), test)
            times = [*(each._replace(test=test) for each in self._shared), own]
            # To another process as plain tuples.
            item.user_properties.append((_TIMES, [tuple(each) for each in times]))

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
        self._times: list[Time] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            for name, value in report.user_properties:
                if name == _TIMES:
                    self._times += (Time(*each) for each in value)

    @property
    def _too_slow(self) -> list[Time]:
        return [each for each in self._times if each.seconds > LIMIT and not each.is_allowed]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        tests = list(dict.fromkeys(each.test for each in self._too_slow))
        if tests and session.exitstatus == pytest.ExitCode.OK:
            is_alone = not session.config.getoption("numprocesses", None)
            if is_alone or not _pass_alone(session.config, tests):
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        write = terminalreporter.write_line
        total = sum(each.seconds for each in self._times)
        write(f"{total:.0f} s in all, as on a machine that does nothing else; the slowest:")
        slowest = sorted(self._times, key=lambda each: -each.seconds)
        for each in slowest[:SHOWN]:
            write(f"{each.seconds:6.1f} s {each.name}")
        for each in self._too_slow:
            write(
                f"over {LIMIT:.0f} s: {each.name} ({each.seconds:.1f} s). Make it cheaper, leave it"
                " to `make test-sweeps` (`sweep`), or give a reason (`slow`): see CONTRIBUTING.md",
                red=True,
            )


def _name(item: pytest.Item) -> str:
    """As it is given to pytest: pytest-xdist appends the group to it."""
    group = item.get_closest_marker("xdist_group")
    return item.nodeid.removesuffix(f"@{group.args[0]}") if group else item.nodeid


def _pass_alone(config: pytest.Config, tests: list[str]) -> bool:
    tier = ["--tier", config.getoption("--tier", "")] if config.getoption("--tier", "") else []
    command = [sys.executable, "-m", "pytest", "-n", "0", "--rootdir", str(config.rootpath), *tier]
    return subprocess.run([*command, *tests], cwd=config.rootpath, check=False).returncode == 0


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
