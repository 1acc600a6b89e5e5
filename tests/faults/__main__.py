"""The tables of the last `make test-faults`: `build/faults.md`, and on standard output."""

from __future__ import annotations

import json
from typing import Any

from tests.faults.report import LINES

TABLE = LINES.with_suffix(".md")
_COLUMNS = ("fault", "database", "injected", "requests", "acknowledged", "checked", "losses")
_NUMBERS = _COLUMNS[2:]
WAYS = {
    "write_posts": "posts",
    "delete_and_restore": "trash",
    "delete_and_undo": "undo",
    "upload": "uploads",
    "upload_large": "uploads",
    "deliver": "webhooks",
    "pay": "payments",
    "import_posts": "imports of posts",
    "import_members": "imports of members",
    "export_members": "exports of personal data",
    "export_site": "exports of the site",
    "erase_members": "erasures",
    "send_newsletters": "newsletters",
    "read": "statistics",
    "site archive": "site archive",
}
"""Those that are written to, by the names of the paths."""
_KILLED = "kill -9"

Row = dict[str, Any]


def table(rows: list[Row]) -> str:
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


def matrix(rows: list[Row]) -> str:
    """Each way to write: what was acknowledged of it, and under how many faults."""
    faults = {(row["fault"], row["database"]) for row in rows}
    lines = [
        "| way to write | kill -9, SQLite | kill -9, PostgreSQL | other faults | under |",
        f"|{'---|' * 5}",
    ]
    ways, total = dict.fromkeys(WAYS.values()), [0, 0, 0, 0]
    for way in ways:
        counts = dict.fromkeys(faults, 0)
        for row in rows:
            names = (name for name in row["ways"] if WAYS.get(name) == way)
            counts[row["fault"], row["database"]] += sum(row["ways"][name] for name in names)
        numbers = [_killed(counts, "sqlite"), _killed(counts, "postgresql")]
        numbers += [sum(counts.values()) - sum(numbers), sum(map(bool, counts.values()))]
        total = [a + b for a, b in zip(total, numbers, strict=True)]
        lines.append(_matrix_line(way, numbers, len(faults)))
    return "\n".join([*lines, _matrix_line("all", total, len(faults) * len(ways)), ""])


def _killed(counts: dict[tuple[str, str], int], database: str) -> int:
    return sum(
        number
        for (fault, of), number in counts.items()
        if fault.startswith(_KILLED) and of == database
    )


def _matrix_line(way: str, numbers: list[int], size: int) -> str:
    *acknowledged, under = numbers
    cells = [way, *(f"{number:,}" for number in acknowledged), f"{under} of {size}"]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    rows = [json.loads(line) for line in LINES.read_text().splitlines()]
    text = f"{table(rows)}\n{matrix(rows)}"
    TABLE.write_text(text)
    print(text)  # noqa: T201
