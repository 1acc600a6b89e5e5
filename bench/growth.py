"""Measures whether a list with total slows down as its tenant grows from 1,000 to 100,000 posts."""

from __future__ import annotations

from collections.abc import Iterator

from bench import data, measure
from bench.operations import PER_PAGE, Operation, Request, shows
from bench.report import Row, Target
from bench.sides import Server

NAME = "growth"
DATA_SET = "growth"
SIZES = {"small": 1_000, "large": 100_000}
"""Posts by tenant."""

_MAX_SLOW_DOWN = 1.3


def posts() -> Iterator[data.Post]:
    for tenant, size in SIZES.items():
        yield from data.posts_of_one(tenant, size)


def rows(side: str, server: Server, settings: measure.Settings) -> Iterator[Row]:
    """The rate of each size, then how many times slower the large tenant is in each round."""
    subjects = {tenant: measure.Subject(server, _list_of(tenant)) for tenant in SIZES}
    rounds = measure.alternate(subjects, settings)
    for tenant, size in SIZES.items():
        done = rounds[tenant]
        name = f"{NAME}: list with total, one tenant of {size:,}"
        yield Row(name, "rps", {side: done.rates}, results={side: done.results})
    pairs = zip(rounds["small"].rates, rounds["large"].rates, strict=True)
    slow_downs = [small / large for small, large in pairs if large]
    yield Row(f"{NAME}: slow-down", "x", {side: slow_downs}, Target(_MAX_SLOW_DOWN))


def _list_of(tenant: str) -> Operation:
    public = [post for post in data.posts_of_one(tenant, SIZES[tenant]) if post.is_public]
    newest = public[: -PER_PAGE - 1 : -1]

    def requests(server: Server) -> list[Request]:
        raw = server.list_posts(tenant, perPage=PER_PAGE)
        return [Request(raw, shows(newest, len(public)))]

    return Operation(f"list with total, {tenant}", requests)
