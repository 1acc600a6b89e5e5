"""Answers that no face could give, because there is no request that it could have understood."""

from __future__ import annotations

import time
from email.utils import formatdate
from http import HTTPStatus

from masthead import ids, logs
from masthead.access_log import Answered
from masthead.web.answers import encode

CODES = {400: "BAD_REQUEST", 408: "BAD_REQUEST", 431: "BAD_REQUEST", 500: "INTERNAL_ERROR"}
"""By status; docs/api.md lists them with the others."""


class Refused(Exception):
    """The peer's bytes are no request that could be answered otherwise."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Malformed(Refused):
    def __init__(self) -> None:
        super().__init__(400, "The request is not valid HTTP/1.1.")


class HeadTooLarge(Refused):
    def __init__(self) -> None:
        super().__init__(431, "The request's headers are too large or too many.")


class HeadTooSlow(Refused):
    def __init__(self) -> None:
        super().__init__(408, "The request's headers did not arrive in time.")


class BodyTooSlow(Refused):
    def __init__(self) -> None:
        super().__init__(408, "The request's body did not arrive in time.")


class NoAnswer(Refused):
    """Not the peer's fault."""

    def __init__(self) -> None:
        super().__init__(500, "Something went wrong on our side.")


def answer_for(refused: Refused) -> bytes:
    """The whole answer. Its request id is in the log, as every answer's is."""
    request_id = ids.new_id()
    logs.answered(Answered(time.time(), request_id, "-", "-", refused.status, 0.0, None, ""))
    code = CODES[refused.status]
    body = encode({"error": {"code": code, "message": str(refused), "details": {}}})
    head = (
        f"HTTP/1.1 {refused.status} {HTTPStatus(refused.status).phrase}\r\n"
        f"date: {formatdate(usegmt=True)}\r\n"
        "content-type: application/json\r\n"
        f"content-length: {len(body)}\r\n"
        f"x-request-id: {request_id}\r\n"
        "connection: close\r\n\r\n"
    )
    return head.encode() + body
