"""Answers are compressed for those who ask, when it pays and only when it is safe."""

from __future__ import annotations

import gzip
import sys
from typing import Any

import httpx
import pytest
from tests.world import TenantWorld

from masthead.web.asgi import Message, Receive, Scope, Send
from masthead.web.compression import MAX_INLINE_BYTES, MIN_BYTES, chosen_encoding
from masthead.web.sending import Sending

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LONG = b'{"title": "hello"}' * 100
JSON = [(b"content-type", b"application/json")]
CLOSED = [
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
]
"""Headers that every answer has."""


class Answers:
    """An application that sends one prepared answer, in as many parts as given."""

    def __init__(self, *parts: bytes, headers: Any = JSON, status: int = 200) -> None:
        self.parts = parts
        self.headers = headers
        self.status = status

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = {"type": "http.response.start", "status": self.status, "headers": self.headers}
        await send(start)
        for number, part in enumerate(self.parts, start=1):
            more = number < len(self.parts)
            await send({"type": "http.response.body", "body": part, "more_body": more})


async def sent_by(app: Answers, accepted: str | None) -> list[Message]:
    messages: list[Message] = []

    async def send(message: Message) -> None:
        messages.append(message)

    async def receive() -> Message:
        raise AssertionError("nobody reads the request here")

    headers = [] if accepted is None else [(b"accept-encoding", accepted.encode())]
    scope = {"type": "http", "method": "GET", "path": "/", "headers": headers}
    await app(scope, receive, Sending(scope, send).send)
    return messages


async def headers_of(app: Answers, accepted: str | None = "gzip") -> dict[str, str]:
    start = (await sent_by(app, accepted))[0]
    return {name.decode(): value.decode() for name, value in start["headers"]}


@pytest.mark.parametrize(
    ("accepted", "chosen"),
    [
        ("", None),
        ("identity", None),
        ("br", None),
        ("gzip", "gzip"),
        ("GZIP", "gzip"),
        ("x-gzip", "gzip"),
        ("gzip, deflate, br, zstd", "zstd"),
        ("zstd;q=0.5, gzip;q=0.8", "gzip"),
        ("zstd;q=0, gzip;q=0", None),
        ("gzip;q=0", None),
        ("gzip; q=0.5, identity", None),
        ("gzip, identity;q=0.5", "gzip"),
        ("*", "gzip"),
        ("*;q=0", None),
        ("gzip;q=0, *", None),
        ("gzip;q=nonsense", None),
        ("gzip;q=nan", None),
    ],
)
def test_the_clients_weights_decide(accepted: str, chosen: str | None) -> None:
    assert chosen_encoding(accepted.encode()) == chosen


async def test_gzip_and_zstd_decode_to_the_same_bytes() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await Answers(LONG)(scope, receive, Sending(scope, send).send)

    for encoding in ("gzip", "zstd"):
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")
        async with client.stream("GET", "/", headers={"accept-encoding": encoding}) as answer:
            raw = b"".join([part async for part in answer.aiter_raw()])
        assert answer.headers["content-encoding"] == encoding
        assert answer.headers["content-length"] == str(len(raw))
        assert answer.headers["vary"] == "Accept-Encoding"
        assert len(raw) < len(LONG) / 5
        assert _plain(encoding, raw) == LONG


def _plain(encoding: str, raw: bytes) -> bytes:
    if encoding == "gzip":
        return gzip.decompress(raw)
    return zstd.decompress(raw)


async def test_the_service_compresses_answers(tenant: TenantWorld) -> None:
    headers = {"accept-encoding": "zstd"}
    answer = await tenant.guest.get("/api/v1/openapi.json", headers=headers)
    assert answer.headers["content-encoding"] == "zstd"
    assert answer.headers["etag"].startswith("W/")
    tag = answer.headers["etag"]
    again = await tenant.guest.get(
        "/api/v1/openapi.json", headers={**headers, "if-none-match": tag}
    )
    assert again.status_code == 304


async def test_a_large_answer_is_compressed_too() -> None:
    large = b"word " * MAX_INLINE_BYTES
    messages = await sent_by(Answers(large), "gzip")
    assert gzip.decompress(messages[1]["body"]) == large


async def test_the_limit_is_a_kibibyte() -> None:
    assert "content-encoding" not in await headers_of(Answers(b"x" * (MIN_BYTES - 1)))
    assert "content-encoding" in await headers_of(Answers(b"x" * MIN_BYTES))


async def test_without_accept_encoding_it_is_plain_with_a_vary_header() -> None:
    messages = await sent_by(Answers(LONG), None)
    assert messages[1]["body"] == LONG
    assert (b"vary", b"Accept-Encoding") in messages[0]["headers"]


async def test_a_short_answer_does_not_vary() -> None:
    assert "vary" not in await headers_of(Answers(b"{}"))


async def test_a_compressed_answers_tag_is_weak() -> None:
    tagged = [*JSON, (b"etag", b'"7"'), (b"content-length", str(len(LONG)).encode())]
    assert (await headers_of(Answers(LONG, headers=tagged)))["etag"] == 'W/"7"'
    assert (await headers_of(Answers(LONG, headers=tagged), None))["etag"] == '"7"'


async def test_304_varies_as_the_answer_would() -> None:
    app = Answers(b"", status=304, headers=[(b"etag", b'"7"')])
    assert await headers_of(app) == {"etag": '"7"', "vary": "Accept-Encoding"}


@pytest.mark.parametrize(
    "headers",
    [
        [(b"content-type", b"text/event-stream")],
        [(b"content-type", b"image/png")],
        [(b"content-type", b"application/zip")],
        [],
        [*JSON, (b"content-encoding", b"br")],
        [*JSON, (b"cache-control", b"public, no-transform")],
    ],
)
async def test_some_responses_are_never_compressed(headers: Any) -> None:
    messages = await sent_by(Answers(LONG, headers=headers), "gzip")
    assert messages[0]["headers"] == [*headers, *CLOSED]
    assert messages[1]["body"] == LONG


@pytest.mark.parametrize(
    "content_type",
    ["text/html; charset=utf-8", "text/css", "image/svg+xml", "application/problem+json"],
)
async def test_text_in_any_dress_is_compressed(content_type: str) -> None:
    app = Answers(LONG, headers=[(b"content-type", content_type.encode())])
    assert (await headers_of(app))["content-encoding"] == "gzip"


async def test_a_stream_passes_part_by_part() -> None:
    messages = await sent_by(Answers(LONG, LONG), "gzip")
    assert [message.get("body") for message in messages] == [None, LONG, LONG]
    assert messages[0]["headers"] == [*JSON, *CLOSED]


async def test_a_partial_response_is_not_compressed() -> None:
    messages = await sent_by(Answers(LONG, status=206), "gzip")
    assert messages[1]["body"] == LONG
