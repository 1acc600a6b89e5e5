"""Notes of what fault tests did and found, the rows of a table: lines of `build/faults.jsonl`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.faults.invariants import Found
from tests.faults.load import Load

LINES = Path(__file__).parents[2] / "build" / "faults.jsonl"


def note(fault: str, engine: str, times: int, load: Load, found: Found) -> None:
    row = {
        "fault": fault,
        "database": engine,
        "injected": times,
        "requests": load.ledger.asked,
        "acknowledged": load.ledger.acknowledged,
        "checked": found.records,
        "losses": len(found.losses),
        "ways": {**load.ledger.ways, "deliver": len(load.site.receiver.requests)},
    }
    LINES.parent.mkdir(exist_ok=True)
    with LINES.open("a") as file:
        file.write(json.dumps(row) + "\n")
