"""A file that is made to hold an importer up never costs more than two seconds of work or 200 MB,
and is refused before the database is opened, so it can't cost a byte written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from tests.importers import hostile

SECONDS: Final = 2.0
MEGABYTES: Final = 200

HARMLESS: Final = {
    "wordpress/one huge text",
    "wordpress/one huge title",
    "wordpress/blanks",
    "ghost/escapes",
    "ghost/blanks",
    *(name for name in hostile.everything() if "/a body of" in name),
}
"""These may be imported: what is odd about them is passed over, or fails as one post."""

READER: Final = """
import json, sys, time
from pathlib import Path
from masthead.importers.opening import open_export
from masthead.importers.prepare_process import prepare_all
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


def cost_of(which: str, folder: Path) -> dict[str, Any]:
    """Of looking at the file and of making ready all that it has, with the start of Python."""
    path = hostile.make(which, folder)
    command = [sys.executable, "-c", READER, which.partition("/")[0], str(path)]
    done = subprocess.run(command, capture_output=True, check=True, timeout=100)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("which", hostile.everything())
def test_what_it_costs(which: str, tmp_path: Path) -> None:
    cost = cost_of(which, tmp_path)
    assert cost["seconds"] < SECONDS
    assert cost["megabytes"] < MEGABYTES
    if which in HARMLESS:
        assert cost["was_opened"]
        assert cost["refusal"] == ""
    else:
        assert cost["refusal"]
        assert not cost["was_opened"], "it must be told before anything is written"
