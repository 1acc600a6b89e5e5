"""Counts requests and their time by route, in plain numbers.

It is in the path of every request, so it does as little as it can: the metrics library gets the
sums only when they are requested."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from masthead.web.request import Request

BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Upper limits in seconds; beyond the last is one more bucket."""
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER: Final = "other"
"""A method that a client has made up, and a request that was answered before its route."""


class RouteCounts:
    __slots__ = ("answers", "buckets", "seconds")

    def __init__(self) -> None:
        self.answers: dict[tuple[str, int], int] = {}
        """Counts by method and status."""
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0


class RequestCounts:
    def __init__(self) -> None:
        self.routes: dict[str, RouteCounts] = {}
        """Counts by the template of the route: there are as many as the service has."""

    def note_answer(self, request: Request, status: int, seconds: float) -> None:
        counts = self.routes.get(request.route)
        if counts is None:
            counts = self.routes[request.route] = RouteCounts()
        method: str = request.scope["method"]
        counts.seconds += seconds
        counts.buckets[bisect_left(BOUNDS, seconds)] += 1
        key = (method if method in METHODS else OTHER, status)
        counts.answers[key] = counts.answers.get(key, 0) + 1
