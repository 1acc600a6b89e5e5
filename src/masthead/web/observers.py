"""Who is told of each answer: what counts requests, and what makes spans of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from masthead.web.request import Request


class RequestObserver(Protocol):
    def note_answer(self, request: Request, status: int, seconds: float) -> None:
        """In the path of the request, after its answer: it neither waits nor raises."""


class _Observers:
    def __init__(self, observers: Sequence[RequestObserver]) -> None:
        self._observers = observers

    def note_answer(self, request: Request, status: int, seconds: float) -> None:
        for each in self._observers:
            each.note_answer(request, status, seconds)


def join_observers(*observers: RequestObserver | None) -> RequestObserver | None:
    """None if there are none, so that a request has one thing to look at."""
    present = [each for each in observers if each is not None]
    return _Observers(present) if len(present) > 1 else next(iter(present), None)
