"""The erasure that is watched: whole, in turns, and told phase by phase."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

import pytest
from bench.privacy_clients import COMPACTION, READ, Calls, Phases, compared

from bench import privacy


def test_what_a_receipt_counts_next_is_what_was_at_work() -> None:
    phases = Phases()
    phases.record(1.0, {}, is_complete=False)
    phases.record(2.0, {"posts": 5}, is_complete=False)
    phases.record(3.0, {"posts": 9}, is_complete=False)
    phases.record(4.0, {"posts": 9, "events": 1}, is_complete=False)
    phases.record(5.0, {"posts": 9, "events": 1}, is_complete=True)
    at = {moment: phases.at(moment) for moment in (0.5, 2.5, 3.5, 4.5, 9.0)}
    expected = {0.5: "posts", 2.5: "posts", 3.5: "events", 4.5: COMPACTION, 9.0: COMPACTION}
    assert at == expected
    assert phases.seconds([(1.0, 3.5), (4.0, 5.0)]) == {
        "posts": 2.0,
        "events": 0.5,
        COMPACTION: 1.0,
    }


def test_each_phase_is_compared_with_the_turns_between() -> None:
    phases, quiet, busy = Phases([(10.0, "posts"), (20.0, "events")]), Calls(), Calls()
    for number in range(400):
        quiet.add(READ, 30.0, 0.001)
        busy.add(READ, number / 20, 0.003 if number < 200 else 0.002)
    quiet.add("write", 30.0, 0.001)
    busy.add("write", 0.0, 0.001)
    rows = {row["phase"]: row["times"] for row in compared(quiet, busy, phases) if row["calls"] > 1}
    assert rows == {"none": 1.0, "the whole": 3.0, "posts": 3.0, "events": 2.0}


@pytest.mark.sweep
def test_a_whole_erasure_leaves_no_address(tmp_path: Path) -> None:
    steps = list(privacy.STEPS)
    given = Namespace(steps=steps, posts=40, members=25, media_mb=8, postgres=False, turn=0.3)
    privacy.run(tmp_path, given)
    (result,) = [json.loads(path.read_text()) for path in tmp_path.glob("result-*.json")]
    assert result["export"]["files"] == 1
    assert result["erasure"]["erased"] | {"tenants": 1, "posts": 40} == result["erasure"]["erased"]
    assert result["addresses_left"]["after_a_vacuum"] == {
        "media": 0,
        "log": 0,
        "database": 0,
        "other": 0,
    }
