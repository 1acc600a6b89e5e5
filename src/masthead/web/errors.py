"""Which face answers for an error: each part of the address space has its own envelope."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TypeAlias

from starlette.types import Scope, Send

from masthead.errors import MastheadError, NotFound, RateLimited
from masthead.web.answers import RawHeaders

ErrorAnswer: TypeAlias = Callable[[Scope, Send, MastheadError], Awaitable[None]]


class InternalError(MastheadError):
    """Something broke that should not have; the log has the cause under the request id."""

    message = (
        "Something went wrong on our side. The request id helps the operator to find out what."
    )


AGAIN_AFTER_SECONDS = 5
"""When to try again what could not be answered: a database that restarts is back by then."""


def retry_after(status: int, error: MastheadError | None = None) -> RawHeaders:
    """On every 429 and every 503."""
    seconds = AGAIN_AFTER_SECONDS if status == HTTPStatus.SERVICE_UNAVAILABLE else 0
    if isinstance(error, RateLimited):
        seconds = error.retry_after_seconds
    return [(b"retry-after", str(seconds).encode())] if seconds else []


def no_such_address(scope: Scope, sentence: str) -> NotFound:
    """A slash at the end makes another address, which is none of the service's."""
    if scope["path"].endswith("/"):
        return NotFound("There is no such address. Leave out the slash at its end.")
    return NotFound(sentence)


_by_prefix: list[tuple[str, ErrorAnswer]] = []


def answers_under(prefix: str, answer: ErrorAnswer) -> None:
    """Registers a face's envelope for its addresses; the longest prefix wins."""
    if (prefix, answer) not in _by_prefix:
        _by_prefix.append((prefix, answer))
        _by_prefix.sort(key=lambda entry: -len(entry[0]))


async def send_error(scope: Scope, send: Send, error: MastheadError) -> None:
    for prefix, answer in _by_prefix:
        if scope["path"].startswith(prefix):
            await answer(scope, send, error)
            return
    try:
        raise error
    finally:
        # Else this frame, which is in the traceback, would keep the exception.
        del error
