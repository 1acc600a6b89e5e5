"""Log lines: their two shapes, the request id, and what never appears in them."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from tests.log_lines import own_logs

from masthead.base import logs
from masthead.base.config.values import LogFormat, Secret, Url
from masthead.base.logs import log


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    with own_logs():
        yield io.StringIO()


def json_line(stream: io.StringIO) -> dict[str, Any]:
    (line,) = stream.getvalue().splitlines()
    decoded: dict[str, Any] = json.loads(line)
    return decoded


def test_a_json_line_has_the_event_its_fields_and_the_request_id(stream: io.StringIO) -> None:
    logs.configure(LogFormat.JSON, stream=stream)
    within = logs.request_id.set("0123456789abcde")
    log.info("delivery sent", attempts=2)
    logs.request_id.reset(within)
    line = json_line(stream)
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "delivery sent",
        "level": "info",
        "attempts": 2,
        "request_id": "0123456789abcde",
    }


def test_a_console_line_is_readable_and_without_colours_off_a_terminal(
    stream: io.StringIO,
) -> None:
    logs.configure(LogFormat.CONSOLE, stream=stream)
    log.warning("mail refused", attempts=2)
    assert "mail refused" in stream.getvalue()
    assert "attempts=2" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


def test_lines_of_libraries_have_the_same_format(stream: io.StringIO) -> None:
    logs.configure(LogFormat.JSON, stream=stream)
    logging.getLogger("library").warning("got %s", "/x?token=abc")
    line = json_line(stream)
    assert line["event"] == "got /x?token=***"
    assert line["level"] == "warning"


@pytest.mark.parametrize(
    "fields",
    [
        {"authorization": "Bearer hunter2"},
        {"headers": {"Cookie": "pb_auth=hunter2"}},
        {"headers": {"Set-Cookie": "pb_auth=hunter2"}},
        {"owner_password": "hunter2"},
        {"url": "/api/gdpr/export/1?token=hunter2&x=1"},
        {"query": "?a=1&api_key=hunter2"},
        {"note": "sent Bearer hunter2 along"},
        {"database": "postgresql://user:hunter2@host/db"},
        {"paths": ["/x?token=hunter2"]},
        {"value": Secret("hunter2")},
        {"value": Url("redis://:hunter2@host")},
        {"note": "eyJhbGciOiJIUzI1NiJ9.eyJodW50ZXIyIjoxfQ.hunter2"},
    ],
)
@pytest.mark.parametrize("log_format", LogFormat)
def test_a_secret_is_hidden(
    stream: io.StringIO, log_format: LogFormat, fields: dict[str, Any]
) -> None:
    logs.configure(log_format, stream=stream)
    log.info("something", **fields)
    assert "something" in stream.getvalue()
    assert "hunter2" not in stream.getvalue()


@pytest.mark.parametrize("log_format", LogFormat)
def test_a_secret_in_an_exception_is_hidden(stream: io.StringIO, log_format: LogFormat) -> None:
    logs.configure(log_format, stream=stream)
    try:
        raise ConnectionError("no answer from postgresql://user:" + "hunter" + "2@host/db")
    except ConnectionError:
        log.exception("database failed")
    assert "ConnectionError" in stream.getvalue()
    assert "hunter2" not in stream.getvalue()
