"""A file that is made to hold an importer up never costs more than 200 MB, and is refused before
the database is opened, so it can't cost a byte written. However long it takes, it comes to an
end."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
from tests.faces.importers import hostile
from tests.forking import forked_program
from tests.tiers import representatives

MEGABYTES: Final = 200
HANG_SECONDS: Final = 300
HARMLESS: Final = {
    "wordpress/one huge text",
    "wordpress/one huge title",
    "wordpress/blanks",
    "ghost/escapes",
    "ghost/blanks",
    *(name for name in hostile.everything() if "/a body of" in name),
}
"""These may be imported: what is odd about them is passed over, or fails as one post."""


ONE_OF_EACH_KIND: Final = (
    *("wordpress/tiny items", "wordpress/one huge text", "wordpress/a zip bomb"),
    *("ghost/deep lists", "ghost/a gz bomb", "substack/a quote without an end"),
)


def cost_of(which: str, folder: Path) -> dict[str, Any]:
    """The cost of opening the file and preparing all its posts, in a process of its own."""
    program = forked_program("tests.faces.importers.hostile_reader:main")
    arguments = [program, which.partition("/")[0], hostile.make(which, folder)]
    done = subprocess.run(arguments, capture_output=True, check=True, timeout=HANG_SECONDS)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    "which",
    representatives(
        sorted(hostile.everything(), key=lambda which: which not in ONE_OF_EACH_KIND),
        len(ONE_OF_EACH_KIND),
    ),
)
def test_what_it_costs(which: str, tmp_path: Path) -> None:
    cost = cost_of(which, tmp_path)
    assert cost["megabytes"] < MEGABYTES
    if which in HARMLESS:
        assert cost["was_opened"]
        assert cost["refusal"] == ""
    else:
        assert cost["refusal"]
        assert not cost["was_opened"], "it must be told before anything is written"
