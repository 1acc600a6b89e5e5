"""The v1 error envelope, and the table from error to status and code."""

from __future__ import annotations

from typing import Any

from masthead.base import errors
from masthead.base.config.values import ErrorCodes
from masthead.base.errors import MastheadError
from masthead.web.answers import Answer, RawHeaders, json_answer
from masthead.web.errors import (
    NO_STORE,
    ErrorResponder,
    InternalError,
    MethodNotAllowed,
    retry_after,
)
from masthead.web.request import Request


class InvalidScope(MastheadError):
    """The key lacks the scope of the endpoint."""


def lacks_scope(*alternatives: str) -> InvalidScope:
    needed = " or ".join(alternatives)
    return InvalidScope(f"This key lacks the scope {needed}. Use a key that has it.")


class PlanRequired(MastheadError):
    message = "The API is part of the Pro plan and above. The operator sets the plan."


class QuotaExceeded(errors.RateLimited):
    message = "The plan's daily quota is used up. It starts again at midnight UTC."


class HttpsRequired(MastheadError):
    message = "This API answers only over HTTPS. Repeat the call with https://."


# The first matching row counts.
TABLE: tuple[tuple[type[MastheadError], int, str], ...] = (
    (HttpsRequired, 403, "HTTPS_REQUIRED"),
    (errors.Unauthenticated, 401, "UNAUTHORIZED"),
    (PlanRequired, 403, "PLAN_UPGRADE_REQUIRED"),
    (errors.PlanTooSmall, 403, "PLAN_UPGRADE_REQUIRED"),
    (QuotaExceeded, 429, "QUOTA_EXCEEDED"),
    (errors.RateLimited, 429, "RATE_LIMITED"),
    (InvalidScope, 403, "INVALID_SCOPE"),
    (errors.HeadTooLarge, 431, "BAD_REQUEST"),
    (errors.TooLarge, 413, "BAD_REQUEST"),
    (errors.BodyStalled, 408, "BAD_REQUEST"),
    (errors.StatementTimeout, 400, "BAD_REQUEST"),
    (errors.BadRequest, 400, "BAD_REQUEST"),
    (errors.Invalid, 422, "VALIDATION_ERROR"),
    (errors.NotFound, 404, "NOT_FOUND"),
    (MethodNotAllowed, 405, "METHOD_NOT_ALLOWED"),
    (errors.WrongState, 409, "CONFLICT"),
    (errors.Conflict, 412, "PRECONDITION_FAILED"),
    (errors.Forbidden, 403, "FORBIDDEN"),
    (errors.DiskFull, 503, "DISK_FULL"),
    (errors.Unavailable, 503, "INTERNAL_ERROR"),
    (InternalError, 500, "INTERNAL_ERROR"),
)

# `MASTHEAD_ERROR_CODES=b`: the same errors under other names.
RENAMED_IN_B = {"RATE_LIMITED": "RATE_LIMIT_EXCEEDED", "INTERNAL_ERROR": "INTERNAL_SERVER_ERROR"}


def error_responder(codes: ErrorCodes) -> ErrorResponder:
    renamed = RENAMED_IN_B if codes is ErrorCodes.B else {}

    async def answer(_request: Request, error: MastheadError) -> Answer:
        status, code = next(
            ((status, code) for kind, status, code in TABLE if isinstance(error, kind)),
            (500, "INTERNAL_ERROR"),
        )
        body = {
            "error": {
                "code": renamed.get(code, code),
                "message": str(error),
                "details": _details(error),
            }
        }
        headers = [NO_STORE, *retry_after(status, error)]
        return json_answer(status, body, [*headers, *_headers(error)])

    return answer


def _headers(error: MastheadError) -> RawHeaders:
    if isinstance(error, MethodNotAllowed):
        return [(b"allow", ", ".join(error.allowed).encode())]
    if isinstance(error, errors.Unauthenticated):
        return [(b"www-authenticate", b"Bearer")]
    return []


def _details(error: MastheadError) -> dict[str, Any]:
    if not isinstance(error, errors.Invalid):
        return {}
    return {name: [str(problem.message)] for name, problem in error.problems.items()}
