"""The record store's error envelope: PocketBase's shape, with a named code."""

from __future__ import annotations

from typing import Any

from masthead.base import errors
from masthead.base.errors import MastheadError
from masthead.web.answers import Answer, json_answer
from masthead.web.errors import NO_STORE, InternalError, MethodNotAllowed, retry_after
from masthead.web.request import Request

# The first matching row counts. A query that exceeds the time limit is a client error.
TABLE: tuple[tuple[type[MastheadError], int, str], ...] = (
    (errors.Invalid, 400, "validation_invalid_data"),
    (errors.BadRequest, 400, "validation_invalid_data"),
    (errors.StatementTimeout, 400, "validation_invalid_data"),
    (errors.Unauthenticated, 401, "unauthorized"),
    (errors.Forbidden, 403, "forbidden"),
    (errors.NotFound, 404, "not_found"),
    # PocketBase has no 405.
    (MethodNotAllowed, 404, "not_found"),
    (errors.BodyStalled, 408, "validation_invalid_data"),
    (errors.PlanTooSmall, 403, "forbidden"),
    (errors.WrongState, 409, "wrong_state"),
    (errors.Conflict, 412, "conflict"),
    (errors.HeadTooLarge, 431, "validation_invalid_data"),
    (errors.TooLarge, 413, "validation_invalid_data"),
    (errors.RateLimited, 429, "rate_limited"),
    (errors.DiskFull, 503, "disk_full"),
    (errors.Unavailable, 503, "unavailable"),
    (InternalError, 500, "internal_error"),
)


class RefusedWithData(errors.BadRequest):
    """Problems that are not by field: in a list, or of several requests."""

    def __init__(self, data: dict[str, Any], message: str | None = None) -> None:
        super().__init__(message)
        self.data = data


class BatchRefused(RefusedWithData):
    """A batch that can't be read, or of which a request has failed."""

    message = "Invalid batch request data."


def batch_failure(number: int, error: MastheadError) -> MastheadError:
    """The error of a batch if this request of it fails."""
    response = _envelope(error)
    if response["status"] >= 500:
        # The batch is right, and may be sent again.
        return error
    failed = {
        "code": "batch_request_failed",
        "message": "Batch request failed.",
        "response": response,
    }
    return BatchRefused({"requests": {str(number): failed}}, "Batch transaction failed.")


async def error_answer(_request: Request, error: MastheadError) -> Answer:
    body = _envelope(error)
    return json_answer(body["status"], body, [NO_STORE, *retry_after(body["status"], error)])


def _envelope(error: MastheadError) -> dict[str, Any]:
    status, code = next(
        ((status, code) for kind, status, code in TABLE if isinstance(error, kind)),
        (500, "internal_error"),
    )
    return {"status": status, "code": code, "message": _message(error), "data": _data(error)}


def _message(error: MastheadError) -> str:
    return str(errors.NotFound.message) if isinstance(error, MethodNotAllowed) else str(error)


def _data(error: MastheadError) -> dict[str, Any]:
    if isinstance(error, RefusedWithData):
        return error.data
    if not isinstance(error, errors.Invalid):
        return {}
    return {name: problem_data(problem) for name, problem in error.problems.items()}


def problem_data(problem: errors.Problem) -> dict[str, Any]:
    data: dict[str, Any] = {"code": problem.code, "message": str(problem.message)}
    return {**data, "params": problem.params} if problem.params else data
