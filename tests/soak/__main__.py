"""`make soak`: writes `build/soak.md` and `build/soak.svg`; fails if a bound was not kept."""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
from pathlib import Path

from tests.soak.plot import drawn
from tests.soak.soak import soak
from tests.soak.verdict import Line, Run, judged

BUILD = Path(__file__).parents[2] / "build"


def report(run: Run, lines: list[Line]) -> str:
    requests = run.ledger.asked
    bad = run.ledger.bad_input / max(1, requests)
    said = [
        f"{run.minutes:g} minutes on {run.sites} sites: {requests:,} requests, "
        f"{run.ledger.acknowledged:,} acknowledged, {bad:.1%} bad input; "
        f"{run.deliveries:,} deliveries, {run.letters:,} emails, {run.heard:,} realtime messages.",
        "",
        "| | bound | found | |",
        "|---|---|---|---|",
        *(
            f"| {each.what} | {each.bound} | {each.found.strip()} | "
            f"{'kept' if each.holds else '**not kept**'} |"
            for each in lines
        ),
        "",
    ]
    wrong = [*run.losses, *run.problems, *run.ledger.undocumented]
    return "\n".join([*said, *(f"- {each}" for each in wrong[:100]), ""])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="make soak")
    parser.add_argument("--minutes", type=float, default=60)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="masthead-soak-") as folder:
        done = asyncio.run(soak(wanted.minutes, Path(folder), random.randrange(2**32)))
    verdict = judged(done)
    BUILD.mkdir(exist_ok=True)
    (BUILD / "soak.svg").write_text(drawn(done))
    text = report(done, verdict)
    (BUILD / "soak.md").write_text(text)
    sys.stdout.write(text)
    sys.exit(not all(each.holds for each in verdict))
