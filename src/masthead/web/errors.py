"""Which face answers for an error: each part of the address space has its own envelope."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
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


class ErrorFaces:
    """The envelope of each part of the address space; the longest matching prefix answers."""

    def __init__(self, otherwise: ErrorAnswer, by_prefix: Mapping[str, ErrorAnswer]) -> None:
        self._otherwise = otherwise
        self._by_prefix = sorted(by_prefix.items(), key=lambda entry: -len(entry[0]))

    async def send(self, scope: Scope, send: Send, error: MastheadError) -> None:
        path = scope["path"]
        answers = (answer for prefix, answer in self._by_prefix if path.startswith(prefix))
        await next(answers, self._otherwise)(scope, send, error)
