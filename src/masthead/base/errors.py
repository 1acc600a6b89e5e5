"""The errors that the service raises on purpose.

They know nothing of HTTP: each face has one table that maps them to its status, code and envelope.
A message says what to do next and never contains a path, a statement or a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from masthead.base.languages.words import words


class MastheadError(Exception):
    """The base class of all errors that a face can answer."""

    message = words("Something went wrong while processing your request.")

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or self.message)


class Problem(NamedTuple):
    """A problem with one field: a stable code, a message, and the message's values."""

    code: str
    message: str
    params: Mapping[str, object] = MappingProxyType({})


class Invalid(MastheadError):
    """Invalid input, with one problem per field."""

    message = words("The submitted data is not valid.")

    def __init__(self, problems: dict[str, Problem], message: str | None = None) -> None:
        super().__init__(message)
        self.problems = problems


class BadRequest(MastheadError):
    """The request can't be parsed: broken JSON or multipart, an invalid filter."""

    message = words("The request can't be read.")


class TooLarge(MastheadError):
    message = words("The request is larger than this service accepts.")


class HeadTooLarge(TooLarge):
    """A part of the request's head, such as its cookies."""


class BodyBroken(BadRequest):
    """The body ended too early, or its chunks are malformed: the server does not say which."""

    message = words(
        "The request's body is not complete, or its chunks are malformed. Send it again."
    )


class BodyStalled(MastheadError):
    """The client announced a body, and sends it too slowly or not at all."""

    message = words("The request's body came too slowly, or stopped. Send the request again.")


class AnswerTooLarge(BadRequest):
    """The requested records exist and may be read, but are too large for one response."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(
            f"The answer would have more than {max_bytes:,} bytes. Ask for fewer records "
            "(`perPage`), or only for the fields that you need (`fields`)."
        )


class Unauthenticated(MastheadError):
    message = words("The request requires a valid authorization token.")


class Forbidden(MastheadError):
    message = words("You are not allowed to perform this request.")


class SiteSuspended(Forbidden):
    """An operator has suspended the site."""

    message = words(
        "This site is suspended, so it can't be read or changed. "
        "Its owner sees the reason in the admin."
    )


class NotFound(MastheadError):
    message = words("The requested resource wasn't found.")


class Conflict(MastheadError):
    """The record has another version than the caller expects."""

    message = words(
        "The record has changed since you read it. Read it again and repeat the change."
    )


class WrongState(MastheadError):
    """The record is in a state in which this can't be done."""

    message = words("This can't be done with the record as it is now.")


class PlanTooSmall(MastheadError):
    """More than the plan of the site includes."""

    message = words("The plan of the site does not include this. The operator sets the plan.")


class RateLimited(MastheadError):
    message = words("Too many requests. Wait and try again.")

    def __init__(self, retry_after_seconds: int, message: str | None = None) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class StatementTimeout(MastheadError):
    """A query exceeded the statement timeout."""

    message = words("This query takes too long. Narrow the filter or ask for fewer records.")


class NewerDatabase(MastheadError):
    message = "The database was migrated by a newer version of Masthead. Upgrade this one."


class Unavailable(MastheadError):
    """The database or the object store does not answer."""

    message = words("The service is temporarily unavailable. Try again in a moment.")


class SweptAway(Unavailable):
    """A file may have been removed between its storing and its record: that took longer than an
    abandoned file stays, or the clock has jumped."""


class DiskFull(Unavailable):
    """Nothing can be stored. What is stored can be read."""

    message = words(
        "The disk of the service is full, so nothing can be stored. Reading works. Try again when "
        "the operator has freed space."
    )
