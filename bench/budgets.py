"""`python -m bench.budgets`: the CPU time of small steps of every request, in microseconds, and
their budgets. Exits with 1 if one is above.

The best of many rounds counts, because other work of the machine can only add to it.
"""

from __future__ import annotations

import json
import sys
import time
import timeit
from collections.abc import Callable
from dataclasses import dataclass

from masthead.engine.records.filter.parser import parse
from masthead.web.bodies import decode_json_object

_CALLS, _ROUNDS = 500, 40
_FILTER = "visibility='public' && published_at != null"
_BODY = json.dumps(
    {
        "title": "Hello",
        "status": "draft",
        "tags": ["a", "b"],
        "html": "The quick brown fox jumps over the lazy dog. " * 40,
    }
).encode()


@dataclass(frozen=True)
class Step:
    name: str
    run: Callable[[], object]
    budget: float
    """Microseconds."""

    def best(self) -> float:
        rounds = timeit.repeat(self.run, timer=time.thread_time, number=_CALLS, repeat=_ROUNDS)
        return min(rounds) / _CALLS * 1e6


STEPS = (
    Step("parse a common filter", lambda: parse(_FILTER), 25),
    Step("decode a post of 2 KB", lambda: decode_json_object(_BODY), 10),
)


def main() -> int:
    is_met = True
    for step in STEPS:
        best = step.best()
        is_met &= best <= step.budget
        verdict = "" if best <= step.budget else "  NOT MET"
        print(f"{step.name:28} {best:6.1f} µs  <= {step.budget:g} µs{verdict}")
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
