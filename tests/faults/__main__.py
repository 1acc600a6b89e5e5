"""The table of the last `make test-faults`: `build/faults.md`, and on standard output."""

from __future__ import annotations

import json
from typing import Any

from tests.faults.report import LINES

TABLE = LINES.with_suffix(".md")
_COLUMNS = ("fault", "database", "injected", "requests", "acknowledged", "checked", "losses")
_NUMBERS = _COLUMNS[2:]


def table(rows: list[dict[str, Any]]) -> str:
    added: dict[tuple[str, str], dict[str, int]] = {}
    for row in rows:
        sums = added.setdefault((row["fault"], row["database"]), dict.fromkeys(_NUMBERS, 0))
        for name in _NUMBERS:
            sums[name] += row[name]
    total = {name: sum(each[name] for each in added.values()) for name in _NUMBERS}
    lines = [f"| {' | '.join(_COLUMNS)} |", f"|{'---|' * len(_COLUMNS)}"]
    for (fault, database), sums in sorted({**added, ("all", ""): total}.items(), key=_all_last):
        cells = [fault, database, *(f"{sums[name]:,}" for name in _NUMBERS)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _all_last(item: tuple[tuple[str, str], object]) -> tuple[bool, tuple[str, str]]:
    return item[0][0] == "all", item[0]


if __name__ == "__main__":
    text = table([json.loads(line) for line in LINES.read_text().splitlines()])
    TABLE.write_text(text)
    print(text)  # noqa: T201
