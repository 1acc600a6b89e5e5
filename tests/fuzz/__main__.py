"""`make fuzz`: every target for some seconds, each in a process of its own, and a table at the end.

Inputs that lead to new places in the code are kept in `build/fuzz/<target>`, so that the next run
goes on from there; findings are in `build/fuzz/findings`. A finding that is mended moves to
`tests/fuzz/findings/<target>--<what>`, from where `make test` replays it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

from tests.fuzz.targets import TARGETS

BUILD = Path("build/fuzz")
_DONE = re.compile(r"number_of_executed_units: +(\d+)|^Done (\d+) runs", re.MULTILINE)
_COVERED = re.compile(r" cov: (\d+) ")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz")
    parser.add_argument("--only", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=60)
    given = parser.parse_args()
    findings = BUILD / "findings"
    findings.mkdir(parents=True, exist_ok=True)
    failed = False
    total = 0
    sys.stdout.write(f"{'target':<14}{'inputs':>10}{'seconds':>9}{'covered':>9}{'corpus':>8}\n")
    for name in [given.only] if given.only else TARGETS:
        corpus = BUILD / name
        corpus.mkdir(exist_ok=True)
        began = time.monotonic()
        command = [sys.executable, "-m", "tests.fuzz.one", name, str(given.seconds)]
        done = subprocess.run(
            [*command, str(corpus), str(findings)], capture_output=True, text=True, errors="replace"
        )
        took = time.monotonic() - began
        (BUILD / f"{name}.log").write_text(done.stdout + done.stderr)
        counts = [int(a or b) for a, b in _DONE.findall(done.stderr)]
        covered = [int(each) for each in _COVERED.findall(done.stderr)]
        number = max(counts, default=0)
        total += number
        is_bad = done.returncode != 0
        failed |= is_bad
        state = f"  FAILED: see {BUILD / name}.log and {findings}" if is_bad else ""
        kept = len(list(corpus.iterdir()))
        row = f"{name:<14}{number:>10,}{took:>9.0f}{max(covered, default=0):>9,}{kept:>8,}{state}"
        sys.stdout.write(row + "\n")
        sys.stdout.flush()
    sys.stdout.write(f"{'all':<14}{total:>10,}\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
