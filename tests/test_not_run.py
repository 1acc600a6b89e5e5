"""A run names at its end the tests that it left out, one line for each reason, also with several
processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.tiers import representatives

TESTS = """
import pytest

@pytest.mark.parametrize("number", range(3))
@pytest.mark.skipif(True, reason="Foo is missing: install foo")
def test_marked(number):
    raise AssertionError

def test_inside():
    pytest.skip("Bar is missing: install bar")

def test_runs():
    pass
"""


@pytest.mark.parametrize("processes", representatives(["1", "0"]))
def test_one_line_for_each_reason(processes: str, tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-n", processes, "-p", "tests.not_run"),
            *("-p", "no:cacheprovider", "-p", "no:schemathesis", "--rootdir", str(tmp_path)),
            str(tmp_path),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = [line for line in done.stdout.splitlines() if line.startswith("not run")]
    assert said == [
        "not run: 1 test: Bar is missing: install bar",
        "not run: 3 tests: Foo is missing: install foo",
    ]
