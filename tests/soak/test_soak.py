"""A minute of the soak, which `make soak` runs for an hour."""

from __future__ import annotations

import random
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.soak.__main__ import report
from tests.soak.plot import curves, drawn
from tests.soak.soak import soak
from tests.soak.verdict import judged

pytestmark = pytest.mark.sweep


async def test_a_minute_of_mixed_traffic(tmp_path: Path) -> None:
    """Its latency depends on the machine, and is only in the report."""
    run = await soak(1, tmp_path, random.randrange(2**32), sites=40)
    lines = judged(run)
    text = report(run, lines)
    assert [each for each in lines if not each.holds and each.what != "p99"] == [], text
    assert run.ledger.asked > 500, text
    assert 0.03 < run.ledger.bad_input / run.ledger.asked < 0.07, text
    assert min(run.heard, run.letters, run.deliveries) > 0, text
    root = ElementTree.fromstring(drawn(run))
    assert len(root.findall("{*}g")) == len(curves(run))
