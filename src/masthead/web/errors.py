"""Chooses the error envelope by the path of the request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import TypeAlias

from masthead.base.errors import MastheadError, NotFound, RateLimited
from masthead.base.languages.words import words
from masthead.web.answers import Answer, RawHeaders, Stream
from masthead.web.request import Request

NO_STORE = (b"cache-control", b"no-store")
"""The header of errors: a cache that is told nothing may store a 404 for a while."""

ErrorResponder: TypeAlias = Callable[[Request, MastheadError], Awaitable[Answer | Stream]]


class InternalError(MastheadError):
    """An unexpected error; the log has the cause under the request id."""

    message = words(
        "Something went wrong on our side. The request id helps the operator to find out what."
    )


class MethodNotAllowed(MastheadError):
    message = words("This address does not support that method.")

    def __init__(self, allowed: tuple[str, ...]) -> None:
        super().__init__(
            words("This address supports only %(methods)s.", methods=", ".join(allowed))
        )
        self.allowed = allowed


RETRY_AFTER_SECONDS = 5
"""The delay in a 503: long enough for a database restart."""


def retry_after(status: int, error: MastheadError | None = None) -> RawHeaders:
    """On every 429 and every 503."""
    seconds = RETRY_AFTER_SECONDS if status == HTTPStatus.SERVICE_UNAVAILABLE else 0
    if isinstance(error, RateLimited):
        seconds = error.retry_after_seconds
    return [(b"retry-after", str(seconds).encode())] if seconds else []


def unknown_path(request: Request, sentence: str) -> NotFound:
    """The error for a path without a route, with a hint if it ends in a slash."""
    if request.path.endswith("/"):
        return NotFound(words("There is no such address. Leave out the slash at its end."))
    return NotFound(sentence)


class ErrorResponders:
    """Error envelopes by path prefix, in whole segments; the longest matching prefix counts."""

    def __init__(self, fallback: ErrorResponder, by_prefix: Mapping[str, ErrorResponder]) -> None:
        self._fallback = fallback
        self._by_prefix = sorted(by_prefix.items(), key=lambda entry: -len(entry[0]))

    def answer(self, request: Request, error: MastheadError) -> Awaitable[Answer | Stream]:
        path = f"{request.path}/"
        answers = (answer for prefix, answer in self._by_prefix if path.startswith(f"{prefix}/"))
        return next(answers, self._fallback)(request, error)
