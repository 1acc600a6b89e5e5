"""Ratios, verdicts and the table."""

from __future__ import annotations

import pytest

from bench import load, report


def result(*problems: str) -> load.Result:
    return load.Result(10, 10.0, 1.0, 1.0, 1.0, 100, 0.1, {"200": 10}, list(problems))


def row(target: report.Target | None, peer: list[float], ours: list[float]) -> report.Row:
    return report.Row("list", "rps", {report.PEER: peer, report.OURS: ours}, target)


def test_the_ratio_is_that_of_the_medians() -> None:
    assert row(None, [1, 10, 100], [5, 20, 21]).ratio == 2


@pytest.mark.parametrize(
    ("target", "ours", "is_met"),
    [
        (report.Target(2, is_ratio=True), 20, True),
        (report.Target(2, is_ratio=True), 19, False),
        (report.Target(120), 120, True),
        (report.Target(120), 121, False),
    ],
)
def test_a_target_is_a_least_ratio_or_a_most_value(
    target: report.Target, ours: float, is_met: bool
) -> None:
    assert target.is_met(row(target, [10], [ours])) is is_met


def test_without_our_side_there_is_no_verdict() -> None:
    alone = report.Row("list", "rps", {report.PEER: [10]}, report.Target(2, is_ratio=True))
    assert alone.ratio is None
    assert alone.target is not None
    assert alone.target.is_met(alone) is None


def test_the_table_shows_median_spread_ratio_and_verdict() -> None:
    line = report.table(
        [row(report.Target(2, is_ratio=True), [90, 100, 110], [290, 300, 4000])]
    ).splitlines()[2]
    assert line.split("  ")[0] == "list"
    assert "100 (90..110)" in line
    assert "300 (290..4,000)" in line
    assert "3.00 x" in line
    assert line.endswith("yes")


def test_an_invalid_measurement_is_never_a_met_target() -> None:
    spoiled = report.Row(
        "list",
        "rps",
        {report.PEER: [1], report.OURS: [9]},
        report.Target(2, is_ratio=True),
        {report.OURS: [result("3 answers with status 500")]},
    )
    assert report.table([spoiled]).splitlines()[2].endswith("INVALID")
    assert spoiled.problems == ["list, Masthead: 3 answers with status 500"]
