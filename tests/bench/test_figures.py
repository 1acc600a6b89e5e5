"""Ratios, spreads and verdicts, and the tables that show them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from bench.figures import Ratio, Row, Sample, Verdict, ratio_of
from bench.special import Figure

from bench import report, runner


def row(peer: list[float], ours: list[float], unit: str = "/s", name: str = "record list") -> Row:
    return Row(name, unit, [Sample(each) for each in peer], [Sample(each) for each in ours])


@pytest.mark.parametrize(
    ("peer", "ours", "higher_is_better", "expected"),
    [
        ([100, 100, 100], [90, 95, 110], True, Ratio(0.95, 0.1)),
        ([2, 2, 2], [1, 2, 4], False, Ratio(1.0, 0.75)),
        # In pairs: both sides were slow in the second round.
        ([100, 50, 100], [90, 45, 90], True, Ratio(0.9, 0)),
        # Of seven rounds the two extremes don't count.
        ([100] * 7, [10, 90, 95, 100, 105, 110, 900], True, Ratio(1.0, 0.1)),
        ([100] * 6, [10, 90, 95, 105, 110, 900], True, Ratio(1.0, 4.45)),
        ([100], [80], True, Ratio(0.8, 0.1)),
    ],
)
def test_the_ratio_is_the_median_of_pairs_and_its_spread_half_of_their_range(
    peer: list[float], ours: list[float], higher_is_better: bool, expected: Ratio
) -> None:
    found = ratio_of(peer, ours, higher_is_better=higher_is_better)
    assert found is not None
    assert (found.median, found.spread) == pytest.approx((expected.median, expected.spread))


def test_what_was_not_taken_has_no_ratio() -> None:
    assert ratio_of([], [1], higher_is_better=True) is None
    assert ratio_of([0, 0], [0, 0], higher_is_better=False) is None


@pytest.mark.parametrize(
    ("peer", "ours", "unit", "verdict"),
    [
        ([100, 100], [94, 94], "/s", Verdict.LOWER),
        ([100, 100], [96, 96], "/s", Verdict.SAME),
        ([100, 100, 100], [80, 90, 100], "/s", Verdict.SAME),
        ([100, 100, 100], [88, 90, 92], "/s", Verdict.LOWER),
        ([100, 100], [110, 110], "/s", Verdict.HIGHER),
        # Of seconds and megabytes, less is better.
        ([1, 1], [1.2, 1.2], "s", Verdict.LOWER),
        ([1, 1], [0.8, 0.8], "MB", Verdict.HIGHER),
        # Measured once: ten percent of spread.
        ([100], [109], "MB", Verdict.SAME),
        ([100], [115], "MB", Verdict.LOWER),
        ([], [1, 1], "s", Verdict.NEW),
        ([1, 1], [], "s", Verdict.GONE),
        ([], [], "s", Verdict.NOWHERE),
    ],
)
def test_a_row_is_lower_by_more_than_its_spread_and_five_percent(
    peer: list[float], ours: list[float], unit: str, verdict: Verdict
) -> None:
    assert row(peer, ours, unit).verdict is verdict


def test_more_processor_time_is_lower_also_where_the_rate_does_not_show_it() -> None:
    peer, ours = [Sample(100, 0.001)] * 3, [Sample(100, 0.0012)] * 3
    assert Row("list", "/s", peer, ours).verdict is Verdict.LOWER


def test_a_wrong_answer_makes_a_row_invalid_whatever_its_rate() -> None:
    spoiled = replace(row([100], [9_000]), problems=["ours: 3 answers with status 500"])
    assert spoiled.verdict is Verdict.INVALID
    assert report.goal(spoiled) == "INVALID"
    failing = {each for each in Verdict if each.is_failure}
    assert failing == {Verdict.LOWER, Verdict.GONE, Verdict.INVALID}


def test_a_first_read_that_the_cache_answered_is_said() -> None:
    cached = Row("home", "/s", [Sample(10, 0.001)] * 2, [Sample(10, 0.001)] * 2)
    first = Row("home, first read", "/s", [Sample(10, 0.009)] * 2, [Sample(10, 0.0011)] * 2)
    sides = (runner.PEER, runner.OURS)
    assert runner.missed_nothing(cached, replace(first, ours=[]), sides) == []
    [said] = runner.missed_nothing(cached, first, sides)
    assert "ours: the cache has answered" in said


def test_a_version_without_a_cache_answers_no_first_read_from_it() -> None:
    cached = Row("list", "/s", [Sample(10, 0.009)] * 2, [Sample(10, 0.001)] * 2)
    first = Row("list, first read", "/s", [Sample(10, 0.009)] * 2, [Sample(10, 0.009)] * 2)
    assert runner.missed_nothing(cached, first, (runner.PEER, runner.OURS)) == []
    [said] = runner.missed_nothing(cached, first, (runner.PEER,))
    assert "peer: the cache has answered" in said


def cells(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]


def test_the_table_of_commits_shows_both_versions_the_ratio_and_the_share_of_the_ceiling() -> None:
    peer = [Sample(1_000, 0.001), Sample(1_000, 0.001)]
    ours = [Sample(1_200, 0.0009), Sample(1_400, 0.0009)]
    full = Row("list", "/s", peer, ours, [Sample(5_200, 0.00009)] * 2)
    missing = Row("page", "/s", ours=ours)
    found = cells(report.commits([full, missing], "67010bc", "48fd722"))
    assert found[0][2:4] == ["67010bc", "48fd722"]
    assert found[2][2:6] == ["1,000", "1,300", "1.30 ± 0.10", "1.11 ± 0.00"]
    assert found[2][6:] == ["25%", "10%", "higher"]
    assert found[3] == ["page", "/s", "can't", "1,300", "", "", "", "", "new"]


def test_the_table_beside_pocketbase_shows_the_processor_time_of_both_and_the_goal() -> None:
    peer, ours = [Sample(90, 0.002), Sample(110, 0.002)], [Sample(200, 0.001), Sample(200, 0.001)]
    starts = Row("cold start", "s", [Sample(0.02, 0.03)], [Sample(0.9, 0.8)])
    found = cells(report.beside([Row("record list", "/s", peer, ours), starts]))
    assert found[2][:3] == ["record list", "100/s (90 to 110)", "200/s (200 to 200)"]
    assert found[2][4:] == ["2,000 µs", "1,000 µs", "2.00 ± 0.00", "15 times: missed"]
    assert found[3][1:3] + found[3][4:6] == ["0.02 s", "0.90 s", "30 ms", "800 ms"]
    assert found[3][-1] == "1 s"


def test_the_page_has_every_row_of_the_bench_and_no_other() -> None:
    figures = report.PAGE.read_text().partition(report.BEGIN)[2].partition(report.END)[0]
    table = figures[figures.index("| row") :].strip()
    names = [line[0].removesuffix(" \\*") for line in cells(table)[2:]]
    assert names == runner.names(is_beside=True)


def test_a_run_replaces_all_figures_of_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Above\n{report.BEGIN}\nolder figures\n{report.END}\nbelow\n")
    report.write_page([row([10], [150])], "5 rounds", page)
    written = page.read_text()
    assert "older figures" not in written
    assert written.startswith(f"# Above\n{report.BEGIN}\nCommit `")
    assert "| record list | 10.00/s" in written
    assert written.endswith(f"{report.END}\nbelow\n")


@pytest.mark.parametrize(
    ("figure", "is_met"),
    [
        (Figure("rate", 300, least=300), True),
        (Figure("rate", 299, least=300), False),
        (Figure("p99", 20, "ms", most=20), True),
        (Figure("p99", 21, "ms", most=20), False),
        (Figure("seconds", 1e9, "s"), True),
    ],
)
def test_a_figure_of_one_feature_keeps_its_goal_or_misses_it(figure: Figure, is_met: bool) -> None:
    assert figure.is_met is is_met
    assert ("MISSED" in figure.cells()[-1]) is not is_met
