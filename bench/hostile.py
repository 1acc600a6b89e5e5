"""`python -m bench.hostile`: the CPU time, with the start of Python, and the peak memory of the
importers for hostile files. Exits with 1 if a limit is exceeded.

The files are those of `tests/faces/importers/hostile.py`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tests.faces.importers import hostile

SECONDS: Final = 2.0
MEGABYTES: Final = 200
HANG_SECONDS: Final = 300

ROOT: Final = Path(__file__).parents[1]
A_NEW_PROCESS: Final = (sys.executable, "-m", "bench.hostile_reader")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.hostile", description=__doc__)
    parser.add_argument("--only", default="", help="files with this in their name")
    only = parser.parse_args().only.lower()
    costs = {which: _shown(which) for which in hostile.everything() if only in which.lower()}
    above = [which for which, cost in costs.items() if not _is_met(cost)]
    print(f"{len(costs)} files, at most {SECONDS:g} s and {MEGABYTES} MB each: {len(above)} above")
    sys.exit(1 if above or not costs else 0)


def _shown(which: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        cost = cost_of(which, Path(folder))
    verdict = "" if _is_met(cost) else "  NOT MET"
    print(f"{which:45} {cost['seconds']:5.2f} s {cost['megabytes']:5} MB{verdict}", flush=True)
    return cost


def _is_met(cost: dict[str, Any]) -> bool:
    return bool(cost["seconds"] <= SECONDS and cost["megabytes"] <= MEGABYTES)


def cost_of(
    which: str, folder: Path, program: Sequence[str | Path] = A_NEW_PROCESS
) -> dict[str, Any]:
    """Of opening the file and preparing all its posts, in a separate process."""
    path = hostile.make(which, folder)
    done = subprocess.run(
        [*program, which.partition("/")[0], str(path)],
        cwd=ROOT,
        capture_output=True,
        check=True,
        timeout=HANG_SECONDS,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    main()
