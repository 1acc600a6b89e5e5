"""The log line of an answer of 500 or above."""

from __future__ import annotations

import sqlite3

from tests.log_lines import capture_logs

from masthead.base.errors import BadRequest, DiskFull, MastheadError, Unavailable
from masthead.web.failures import log_failure


def logged(error: MastheadError, status: int, path: str = "/api/v1/posts") -> list[dict[str, str]]:
    with capture_logs() as lines:
        log_failure(error, status, path)
    return [dict(each) for each in lines]


def test_it_has_the_cause_that_the_client_is_not_told() -> None:
    error = Unavailable()
    error.__cause__ = sqlite3.OperationalError("database is locked")
    (line,) = logged(error, 503)
    assert line == {
        "event": "request.failed",
        "log_level": "error",
        "path": "/api/v1/posts",
        "status": 503,
        "error": "Unavailable",
        "cause": "OperationalError: database is locked",
    }


def test_an_address_in_the_path_is_left_out() -> None:
    (line,) = logged(Unavailable(), 503, "/api/v1/members/ann@example.com\n")
    assert line["path"] == "/api/v1/members/***"


def test_a_refusal_has_none_and_a_full_disk_has_one() -> None:
    assert logged(BadRequest(), 400) == []
    (line,) = logged(DiskFull(), 503)
    assert (line["event"], line["error"]) == ("request.failed", "DiskFull")
