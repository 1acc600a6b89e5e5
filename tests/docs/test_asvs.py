"""The page about OWASP's ASVS: every row is complete, and the sums are those of the rows.

That the files are there which it names is in `test_links`.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "asvs.md").read_text()
CHAPTERS = {
    **{1: 27, 2: 11, 3: 19, 4: 10, 5: 9, 6: 35, 7: 18, 8: 7, 9: 7},
    **{10: 29, 11: 14, 12: 9, 13: 13, 14: 9, 15: 13, 16: 16, 17: 7},
}
"""How many requirements of levels 1 and 2 each has in version 5.0.0."""

_SUM = re.compile(r"^\| (met|not applicable|not met) \| (\d+) \|$", re.MULTILINE)
_ROW = re.compile(
    r"^\| (?P<number>(?P<chapter>\d+)\.\d+\.\d+)(?: to [\d.]+)?(?: \((?P<several>\d+)\))? [^|]+"
    r"\| (?P<state>[^|]*) \| (?P<where>[^|]+) \| (?P<test>[^|]*)\|$",
    re.MULTILINE,
)
_TESTS = re.compile(r"`tests/[^`]+`(?:, `tests/[^`]+`)*")
ROWS = list(_ROW.finditer(PAGE))


def requirements(row: re.Match[str]) -> int:
    """A row about what does not apply may be about several."""
    return int(row["several"] or 1)


def test_every_line_of_a_table_is_read_and_no_requirement_is_there_twice() -> None:
    assert len(ROWS) == len(re.findall(r"^\| \d", PAGE, re.MULTILINE))
    assert len({row["number"] for row in ROWS}) == len(ROWS)


def test_every_requirement_of_a_chapter_is_there() -> None:
    found = Counter[int]()
    for row in ROWS:
        found[int(row["chapter"])] += requirements(row)
    assert found == CHAPTERS


def test_the_sums_are_those_of_the_rows() -> None:
    found = Counter[str]()
    for row in ROWS:
        found[row["state"]] += requirements(row)
    assert dict(found) == {state: int(number) for state, number in _SUM.findall(PAGE)}
    said = ", ".join(f"{found[state]} {state}" for state in ("met", "not applicable", "not met"))
    assert said in (DOCS / "reliability.md").read_text()


def test_what_is_met_has_a_test_or_says_that_it_has_none() -> None:
    for row in ROWS:
        test = row["test"].strip()
        if row["state"] == "met":
            assert test == "-" or _TESTS.fullmatch(test), row["number"]
        else:
            assert test == "", row["number"]
