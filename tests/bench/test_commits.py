"""Ratios, spreads and verdicts of two versions, and every operation on the current one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from bench.commits import ceiling, checkout, rounds, starts
from bench.commits.comparison import Ratio, Row, Sample, Verdict, ratio_of, table
from bench.commits.operations import OPERATIONS, CanNot, Load, Operation, Settings, Task
from bench.commits.rounds import BASE, NOW, Wanted
from bench.commits.version import Service, Version
from bench.http import Answer, answer_to

from bench import datasets

# One server for all of them.
pytestmark = pytest.mark.xdist_group("commits")

QUICK = Wanted(1, Settings(seconds=0.3, connections=2))


def row(base: list[float], now: list[float], unit: str = "/s") -> Row:
    return Row("list", unit, [Sample(each) for each in base], [Sample(each) for each in now])


@pytest.mark.parametrize(
    ("base", "now", "higher_is_better", "expected"),
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
    base: list[float], now: list[float], higher_is_better: bool, expected: Ratio
) -> None:
    found = ratio_of(base, now, higher_is_better=higher_is_better)
    assert found is not None
    assert (found.median, found.spread) == pytest.approx((expected.median, expected.spread))


def test_what_was_not_taken_has_no_ratio() -> None:
    assert ratio_of([], [1], higher_is_better=True) is None
    assert ratio_of([0, 0], [0, 0], higher_is_better=False) is None


@pytest.mark.parametrize(
    ("base", "now", "unit", "verdict"),
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
    base: list[float], now: list[float], unit: str, verdict: Verdict
) -> None:
    assert row(base, now, unit).verdict is verdict


def test_more_processor_time_is_lower_also_where_the_rate_does_not_show_it() -> None:
    base, now = [Sample(100, 0.001)] * 3, [Sample(100, 0.0012)] * 3
    assert Row("list", "/s", base, now).verdict is Verdict.LOWER


def test_a_wrong_answer_makes_a_row_invalid() -> None:
    spoiled = replace(row([100], [200]), problems=["now: 3 answers with status 500"])
    assert spoiled.verdict is Verdict.INVALID
    failing = {each for each in Verdict if each.is_failure}
    assert failing == {Verdict.LOWER, Verdict.GONE, Verdict.INVALID}


def test_the_table_shows_both_versions_the_ratio_and_the_share_of_the_ceiling() -> None:
    base = [Sample(1_000, 0.001), Sample(1_000, 0.001)]
    now = [Sample(1_200, 0.0009), Sample(1_400, 0.0009)]
    full = Row("list", "/s", base, now, [Sample(5_200, 0.00009)] * 2)
    missing = Row("page", "/s", now=now)
    lines = table([full, missing], "67010bc", "48fd722").splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    assert cells[0][2:4] == ["67010bc", "48fd722"]
    assert cells[2][2:6] == ["1,000", "1,300", "1.30 ± 0.10", "1.11 ± 0.00"]
    assert cells[2][6:] == ["25%", "10%", "higher"]
    assert cells[3] == ["page", "/s", "can't", "1,300", "", "", "", "", "new"]


def test_a_miss_that_the_cache_answered_is_said() -> None:
    warm = Row("home, warm", "/s", [Sample(10, 0.001)] * 2, [Sample(10, 0.001)] * 2)
    miss = Row("home, miss", "/s", [Sample(10, 0.009)] * 2, [Sample(10, 0.0011)] * 2)
    assert rounds.missed_nothing(warm, miss) == ["now: the cache has answered, this is no miss"]
    assert rounds.missed_nothing(warm, replace(miss, now=[])) == []


def test_a_commit_that_does_not_exist_is_named() -> None:
    with pytest.raises(SystemExit, match="no-such-commit"):
        checkout.of_commit("no-such-commit")


@pytest.fixture(scope="module")
def version() -> Iterator[Version]:
    with datasets.run_folder() as folder:
        made = Version(checkout.current(), folder / "version")
        made.fill(posts=2)
        yield made


@pytest.fixture(scope="module")
def service(version: Version) -> Iterator[Service]:
    with version.serving() as running:
        yield running


@pytest.fixture(scope="module")
def bare() -> Iterator[ceiling.Ceiling]:
    with ceiling.serving() as running:
        yield running


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
@pytest.mark.sweep
def test_this_version_can_do_everything_that_is_measured(
    service: Service, operation: Operation
) -> None:
    taken = operation.prepare(service).round(service, 0, QUICK.settings)
    assert taken.problems == []
    assert taken.sample.value > 0
    assert taken.sample.processor > 0


@pytest.mark.parametrize("name", ["v1 create from a title", "editor autosave"])
@pytest.mark.sweep
def test_the_ceiling_is_measured_beside_both(
    service: Service, bare: ceiling.Ceiling, name: str
) -> None:
    [operation] = [each for each in OPERATIONS if each.name == name]
    found = rounds.operation_row(operation, {BASE: service, NOW: service}, bare, QUICK)
    assert (found.problems, found.notes) == ([], [])
    assert [len(each) for each in (found.base, found.now, found.ceiling)] == [1, 1, 1]
    assert found.ceiling[0].value > 0


def test_the_ceiling_takes_large_answers_that_arrive_in_pieces(bare: ceiling.Ceiling) -> None:
    body = b"x" * 300_000
    for _ in range(100):
        bare.answer_with(Answer(201, [("X-Kept", "yes"), ("Content-Length", "7")], body))
    sent = answer_to(bare.port, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 0)
    assert (sent.status, sent.body) == (201, body)
    headers = {name.lower(): value for name, value in sent.headers}
    assert (headers["x-kept"], headers["content-length"]) == ("yes", "300000")


@pytest.mark.sweep
def test_what_a_version_can_not_do_is_a_row_all_the_same(
    service: Service, bare: ceiling.Ceiling
) -> None:
    def prepare(asked: Service) -> Task:
        headers = asked.headers("read")
        return Load(asked, [asked.get("/no-such-page", headers)])

    with pytest.raises(CanNot):
        prepare(service)
    operation = Operation("a page", prepare)
    found = rounds.operation_row(operation, {BASE: service, NOW: service}, bare, QUICK)
    assert found.verdict is Verdict.NOWHERE
    assert found.notes == ["base: GET /no-such-page: 404", "now: GET /no-such-page: 404"]


@pytest.mark.sweep
def test_a_command_and_a_start_take_wall_and_processor_time(version: Version) -> None:
    sample = starts.COMMANDS[1].sample(version)
    assert 0 < sample.processor <= sample.value * 4
    with pytest.raises(RuntimeError, match="masthead no such"):
        starts.Command("none", ("no", "such")).sample(version)
