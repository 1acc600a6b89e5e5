"""Stored objects over HTTP, from a real store in a temporary folder."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from masthead.base.errors import NotFound
from masthead.storage.local_objects import LocalObjectStore
from masthead.storage.objects import StoredObject
from masthead.storage.open_objects import open_object_store
from masthead.web.asgi import Message, Receive, Scope, Send
from masthead.web.files import Store, content_disposition, serve_object

CONTENT = bytes(range(256)) * 4
ORIGIN = "http://files.test"


@pytest.fixture
async def store(tmp_path: Path) -> Store:
    store = open_object_store(tmp_path.as_uri())
    assert isinstance(store, LocalObjectStore)
    await store.put("a/photo.png", CONTENT)
    await store.put("a/empty.txt", b"")
    await store.put("a/large.bin", bytes(3_000_000))
    return store


@pytest.fixture
async def client(store: Store) -> AsyncIterator[httpx.AsyncClient]:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        key = scope["path"].removeprefix("/")
        name = key.rpartition("/")[2]
        kind = "image/png" if name.endswith(".png") else "text/plain; charset=utf-8"
        is_download = scope["query_string"] == b"download=1"
        await serve_object(
            scope,
            send,
            store=store,
            key=key,
            filename=name,
            content_type=kind,
            download=is_download,
        )

    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as client:
        yield client


async def test_a_file_is_served_whole_with_inert_headers(client: httpx.AsyncClient) -> None:
    answer = await client.get("/a/photo.png")
    assert (answer.status_code, answer.content) == (200, CONTENT)
    assert {
        "accept-ranges": "bytes",
        "cache-control": "max-age=2592000, stale-while-revalidate=86400",
        "content-disposition": 'inline; filename="photo.png"',
        "content-length": "1024",
        "content-security-policy": (
            "default-src 'none'; media-src 'self'; style-src 'unsafe-inline'; sandbox"
        ),
        "content-type": "image/png",
        "x-content-type-options": "nosniff",
    }.items() <= dict(answer.headers).items()
    assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT", answer.headers["last-modified"])
    assert re.fullmatch(r'"[^"]+"', answer.headers["etag"])


async def test_text_and_requested_downloads_are_attachments(client: httpx.AsyncClient) -> None:
    text = await client.get("/a/empty.txt")
    assert text.headers["content-disposition"] == 'attachment; filename="empty.txt"'
    assert (text.content, text.headers["content-length"]) == (b"", "0")
    photo = await client.get("/a/photo.png?download=1")
    assert photo.headers["content-disposition"] == 'attachment; filename="photo.png"'


async def test_a_large_file_arrives_whole(client: httpx.AsyncClient) -> None:
    assert (await client.get("/a/large.bin")).content == bytes(3_000_000)


async def test_head_tells_the_same_without_the_content(client: httpx.AsyncClient) -> None:
    head, get = await client.head("/a/photo.png"), await client.get("/a/photo.png")
    assert (head.status_code, head.content) == (200, b"")
    assert dict(head.headers) == dict(get.headers)


async def test_a_missing_file_is_not_found_before_anything_is_sent(store: Store) -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "headers": []}
    with pytest.raises(NotFound):
        await serve_object(
            scope, send, store=store, key="a/none", filename="x", content_type="image/png"
        )
    assert not sent


@pytest.mark.parametrize(
    ("wanted", "first", "stop"),
    [
        ("bytes=0-9", 0, 10),
        ("bytes=10-10", 10, 11),
        ("bytes=1000-", 1000, 1024),
        ("bytes=1000-5000", 1000, 1024),
        ("bytes=-24", 1000, 1024),
        ("bytes=-5000", 0, 1024),
        ("bytes=0-", 0, 1024),
        ("bytes=1023-999999999999999999", 1023, 1024),
    ],
)
async def test_a_range_is_partial_content(
    client: httpx.AsyncClient, wanted: str, first: int, stop: int
) -> None:
    answer = await client.get("/a/photo.png", headers={"Range": wanted})
    assert (answer.status_code, answer.content) == (206, CONTENT[first:stop])
    assert answer.headers["content-range"] == f"bytes {first}-{stop - 1}/1024"
    assert answer.headers["content-length"] == str(stop - first)


@pytest.mark.parametrize("wanted", ["bytes=1024-", "bytes=5000-6000", "bytes=-0"])
async def test_a_range_outside_is_refused(client: httpx.AsyncClient, wanted: str) -> None:
    answer = await client.get("/a/photo.png", headers={"Range": wanted})
    assert (answer.status_code, answer.content) == (416, b"")
    assert answer.headers["content-range"] == "bytes */1024"


@pytest.mark.parametrize(
    "wanted",
    [
        "",
        "bytes=",
        "bytes=-",
        "bytes=5-2",
        "bytes=0-1,5-6",
        "lines=0-1",
        "bytes=a-b",
        "bytes=--1",
        "bytes=" + "9" * 400 + "-",
    ],
)
async def test_anything_but_a_single_range_gives_the_whole(
    client: httpx.AsyncClient, wanted: str
) -> None:
    answer = await client.get("/a/photo.png", headers={"Range": wanted})
    assert (answer.status_code, answer.content) == (200, CONTENT)


async def test_any_range_of_nothing_is_outside(client: httpx.AsyncClient) -> None:
    answer = await client.get("/a/empty.txt", headers={"Range": "bytes=0-"})
    assert answer.status_code == 416


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_a_known_version_is_not_sent_again(client: httpx.AsyncClient, method: str) -> None:
    first = await client.get("/a/photo.png")
    tag, date = first.headers["etag"], first.headers["last-modified"]
    for condition in (
        {"If-None-Match": tag},
        {"If-None-Match": f'"other", W/{tag}'},
        {"If-None-Match": "*"},
        {"If-Modified-Since": date},
        {"If-Modified-Since": "Fri, 31 Dec 2100 23:59:59 GMT"},
    ):
        answer = await client.request(method, "/a/photo.png", headers=condition)
        assert (answer.status_code, answer.content) == (304, b"")
        assert answer.headers["etag"] == tag
        assert "content-length" not in answer.headers


@pytest.mark.parametrize(
    "condition",
    [
        {"If-None-Match": '"other"'},
        {"If-None-Match": ""},
        {"If-None-Match": '"other"', "If-Modified-Since": "Fri, 31 Dec 2100 23:59:59 GMT"},
        {"If-Modified-Since": "Sat, 01 Jan 2000 00:00:00 GMT"},
        {"If-Modified-Since": "yesterday"},
        {"If-Modified-Since": "Fri, 31 Dec 99999999999999 23:59:59 GMT"},
    ],
)
async def test_an_unknown_version_is_sent(
    client: httpx.AsyncClient, condition: dict[str, str]
) -> None:
    assert (await client.get("/a/photo.png", headers=condition)).content == CONTENT


async def test_a_range_of_another_version_gives_the_whole(client: httpx.AsyncClient) -> None:
    first = await client.get("/a/photo.png")
    wanted = {"Range": "bytes=0-9"}
    for condition, status in (
        (first.headers["etag"], 206),
        (first.headers["last-modified"], 206),
        ('"other"', 200),
        ("Sat, 01 Jan 2000 00:00:00 GMT", 200),
    ):
        answer = await client.get("/a/photo.png", headers=wanted | {"If-Range": condition})
        assert answer.status_code == status


async def test_a_changed_file_has_another_tag(client: httpx.AsyncClient, store: Store) -> None:
    before = (await client.get("/a/photo.png")).headers["etag"]
    assert isinstance(store, LocalObjectStore)
    await store.put("a/photo.png", b"changed")
    answer = await client.get("/a/photo.png", headers={"If-None-Match": before})
    assert (answer.status_code, answer.content) == (200, b"changed")


async def test_the_caller_chooses_the_caching_and_a_bad_type_is_octets(store: Store) -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await serve_object(
        {"type": "http", "method": "GET", "headers": []},
        send,
        store=store,
        key="a/photo.png",
        filename="x",
        content_type="image/png\r\nX-Evil: 1",
        cache_control="no-store",
    )
    headers = dict(sent[0]["headers"])
    assert headers[b"cache-control"] == b"no-store"
    assert headers[b"content-type"] == b"application/octet-stream"
    assert headers[b"content-disposition"].startswith(b"attachment")


@pytest.mark.usefixtures("store")
async def test_a_reader_who_leaves_frees_the_store(tmp_path: Path) -> None:
    class Gone(Exception):
        pass

    closed = []

    class Watched(LocalObjectStore):
        async def get(
            self, key: str, *, byte_range: tuple[int, int | None] | None = None
        ) -> StoredObject:
            content = await super().get(key, byte_range=byte_range)
            inner = content.chunks

            async def chunks() -> AsyncIterator[bytes]:
                try:
                    async for chunk in inner:
                        yield chunk
                finally:
                    closed.append(key)

            return replace(content, chunks=chunks())

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            raise Gone

    with pytest.raises(Gone):
        await serve_object(
            {"type": "http", "method": "GET", "headers": []},
            send,
            store=Watched(tmp_path),
            key="a/large.bin",
            filename="x",
            content_type="image/png",
        )
    assert closed == ["a/large.bin"]


@pytest.mark.parametrize(
    ("filename", "content_type", "expected"),
    [
        ("a.png", "image/png", 'inline; filename="a.png"'),
        ("a.pdf", "application/pdf", 'inline; filename="a.pdf"'),
        ("a.mp4", "video/mp4", 'inline; filename="a.mp4"'),
        ("a.svg", "image/svg+xml", 'attachment; filename="a.svg"'),
        ("a.html", "text/html; charset=utf-8", 'attachment; filename="a.html"'),
        ("a.xml", "application/xml", 'attachment; filename="a.xml"'),
        ("a.js", "text/javascript", 'attachment; filename="a.js"'),
        ("a.png", "", 'attachment; filename="a.png"'),
        ('a".png', "image/png", 'inline; filename="a.png"'),
        ("a\r\nX-Evil: 1.png", "image/png", 'inline; filename="aX-Evil: 1.png"'),
        ("../../a\\b.png", "image/png", 'inline; filename="....ab.png"'),
        ("", "image/png", 'inline; filename="file"'),
        (
            "Grüße.png",
            "image/png",
            "inline; filename=\"Gr__e.png\"; filename*=UTF-8''Gr%C3%BC%C3%9Fe.png",
        ),
    ],
)
def test_disposition(filename: str, content_type: str, expected: str) -> None:
    assert content_disposition(filename, content_type, download=False) == expected


@given(st.text(), st.text(), st.booleans())
def test_no_name_breaks_out_of_the_header(name: str, kind: str, download: bool) -> None:
    value = content_disposition(name, kind, download=download)
    pattern = r"(inline|attachment); filename=\"[ !#-\[\]-~]+\"(; filename\*=UTF-8''[\w.~%-]+)?"
    assert re.fullmatch(pattern, value, re.ASCII)
