"""Says at the end of a run what was not run, one line for each reason: mostly a missing program."""

from __future__ import annotations

from collections import Counter

import pytest
from _pytest.terminal import TerminalReporter


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    for line in lines(terminalreporter.stats.get("skipped", [])):
        terminalreporter.write_line(line, yellow=True)


def lines(skipped: list[pytest.TestReport]) -> list[str]:
    # Those of other processes come as the same triples of file, line and reason.
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in skipped
        if isinstance(report.longrepr, tuple)
    )
    return [
        f"not run: {number} {'test' if number == 1 else 'tests'}: {reason}"
        for reason, number in sorted(reasons.items())
    ]
