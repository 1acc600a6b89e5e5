"""A test that takes more than two seconds fails `make test` and is named, unless it says why."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.budget import Moment, slowness
from tests.tiers import TESTS

MOST_MARKS = 16
"""How many reasons there are. It never grows: make a test cheaper, or leave it to the sweeps."""

CONFTEST = """
import clock
from tests import budget

def pytest_configure(config):
    config.addinivalue_line("markers", "slow(reason)")
    budget.time = clock
    budget.idle_seconds = clock.idle_seconds
    budget.register(config)
"""
CLOCK = """
_now = 1.0
_idle = 1.0

def perf_counter():
    return _now

def idle_seconds():
    return _idle

thread_time = process_time = idle_seconds

def sleep(seconds, idle=True):
    global _now, _idle
    _now += seconds
    _idle += seconds if idle else 0
"""
SUITE = """
import pytest
from clock import sleep

def test_quick(): sleep(1.9)

def test_slow(): sleep(2.1)

def test_while_others_use_the_cores(): sleep(60, idle=False)

@pytest.mark.slow("waits for a clock")
def test_with_a_reason(): sleep(2.1)

@pytest.fixture(scope="module")
def shared(): sleep(2.1)

def test_of_what_is_shared(shared): pass

@pytest.mark.slow
def test_without_a_reason(): sleep(2.1)
"""


@pytest.mark.parametrize(("processes", "seconds", "code"), [("0", "6.1", 1), ("1", "2.1", 0)])
def test_a_slow_test_is_named_and_fails_the_run_if_it_is_thrice_as_slow(
    processes: str, seconds: str, code: int, tmp_path: Path
) -> None:
    (tmp_path / "clock.py").write_text(CLOCK)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_some.py").write_text(SUITE.replace("2.1", seconds))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p"),
            *("no:schemathesis", "--basetemp", str(tmp_path / "temp"), "--rootdir", str(tmp_path)),
            *("-n", processes, str(tmp_path)),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(tmp_path)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "6 passed" in done.stdout
    said = re.findall(rf"^over 2 s: (.*) \({seconds} s\)", done.stdout, re.MULTILINE)
    assert sorted(said) == [
        "test_some.py, shared",
        "test_some.py::test_slow",
        "test_some.py::test_without_a_reason",
    ]
    slowest = re.findall(r"^ +\d+\.\d s (.*)$", done.stdout, re.MULTILINE)
    assert "test_some.py::test_with_a_reason" in slowest[:4]
    assert f"{1.9 + 4 * float(seconds):.0f} s in all" in done.stdout


def test_what_a_test_uses_counts_also_in_processes_that_it_starts() -> None:
    began = Moment()
    use = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", use], check=True)
    assert began.seconds_since() * slowness() > 0.2


def test_the_number_of_reasons_does_not_grow() -> None:
    marks = sum(
        each.read_text().count("pytest.mark.slow(")
        for each in TESTS.rglob("test_*.py")
        if each != Path(__file__)
    )
    assert marks <= MOST_MARKS
