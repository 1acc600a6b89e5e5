"""`python -m bench.hostile`: the CPU time, with the start of Python, and the peak memory of the
importers for hostile files. Exits with 1 if a limit is exceeded.

The files are those of `tests/importers/hostile.py`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from tests.importers import hostile

SECONDS: Final = 2.0
MEGABYTES: Final = 200
HANG_SECONDS: Final = 300

READER: Final = """
import json, sys, time
from pathlib import Path
from masthead.importers.opening import open_export
from masthead.importers.run.preparing import prepare_all
from masthead.importers.source import BadFile, Options, SourcePost

refusal, was_opened = "", False
try:
    source = open_export(sys.argv[1], Path(sys.argv[2]), Options())
    was_opened = True
    for post in source.posts():
        if isinstance(post, SourcePost):
            prepare_all([post], "")
    for member in source.members():
        pass
except BadFile as error:
    refusal = str(error)
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({"refusal": refusal, "was_opened": was_opened, "seconds": time.process_time(),
                  "megabytes": int(peak.split()[1]) // 1024}))
"""


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


def cost_of(which: str, folder: Path) -> dict[str, Any]:
    """Of opening the file and preparing all its posts, in a separate process."""
    path = hostile.make(which, folder)
    command = [sys.executable, "-c", READER, which.partition("/")[0], str(path)]
    done = subprocess.run(command, capture_output=True, check=True, timeout=HANG_SECONDS)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    main()
