"""Hostile input is refused with the documented errors."""

from __future__ import annotations

import pytest
from tests.world import Account, records_of

POSTS = records_of("posts")
DEEP = 10_000


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b"[]",
        b'"text"',
        b"null",
        b"5",
        b"\xff\xfe",
        b'{"title": "\xff"}',
        b'{"title": "\\u0000"}',
        b'{"title": "a\\ud800"}',
        b'{"title": "x", "content_json": {"\\u0000": 1}}',
        b'{"title": "x", "content_json": 1e999}',
        b'{"title": "x", "content_json": NaN}',
        b'{"title": "x", "content_json": ' + b"9" * 400 + b"}",
        b'{"title": "x", "content_json": ' + b"[" * DEEP + b"]" * DEEP + b"}",
        b'{"a":' * DEEP + b"1" + b"}" * DEEP,
        b"title=x",
        b'<?xml version="1.0"?><title>x</title>',
    ],
)
async def test_a_body_that_cant_be_stored(owner: Account, raw: bytes) -> None:
    header = {"content-type": "application/json"}
    answer = await owner.api.post(POSTS, content=raw, headers=header)
    assert answer.status_code == 400, answer.text
    assert answer.json()["code"] == "validation_invalid_data"
    assert (await owner.api.get(POSTS)).json()["totalItems"] == 0


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ('{"title": "first", "title": "second"}', "second"),
        ('{"title": 5}', "5"),
        ('{"title": true}', "true"),
        ('{"title": "\\ud83d\\ude00 \\u200b\\u202e"}', "😀 \u200b\u202e"),
        ('{"title": "<script>alert(1)</script>"}', "<script>alert(1)</script>"),
        ('{"title": "\'; DROP TABLE posts; --"}', "'; DROP TABLE posts; --"),
    ],
)
async def test_unusual_text_is_stored_unchanged(owner: Account, sent: str, kept: str) -> None:
    answer = await owner.api.post(POSTS, content=sent)
    assert (answer.status_code, answer.json()["title"]) == (200, kept)


@pytest.mark.parametrize("text", [r"\u0000", r"a\\u0000", r"\\\u0000b"])
async def test_a_document_may_contain_an_escaped_nul_as_text(owner: Account, text: str) -> None:
    sent = {"title": "x", "content_json": {text: [text]}}
    answer = await owner.api.post(POSTS, json=sent)
    assert answer.status_code == 200, answer.text
    assert answer.json()["content_json"] == {text: [text]}
    answer = await owner.api.post(POSTS, json={"title": "x", "content_json": "\\\\\0"})
    assert answer.status_code == 400


@pytest.mark.parametrize(
    "content_type",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=x",
        "multipart/mixed; boundary=x",
        "application/x-www-form-urlencoded",
        "text/xml",
        "\xff",
    ],
)
async def test_a_content_type_that_does_not_fit(owner: Account, content_type: str) -> None:
    headers = [(b"content-type", content_type.encode("latin-1"))]
    answer = await owner.api.post(POSTS, content=b"title=x&y=%00", headers=headers)
    assert (answer.status_code, answer.json()["status"]) == (400, 400)


@pytest.mark.parametrize(
    "value", [2**63, -(2**63) - 1, 2**53, 1e300, -1, 1.5, "1e5x", "NaN", "inf"]
)
async def test_numbers_out_of_range(owner: Account, value: object) -> None:
    answer = await owner.api.post(records_of("products"), json={"name": "x", "price": value})
    assert answer.status_code == 400


async def test_a_body_over_the_limit(owner: Account) -> None:
    answer = await owner.api.post(POSTS, content=b" " * (9 * 1024 * 1024))
    assert (answer.status_code, answer.json()["status"]) == (413, 413)


@pytest.mark.parametrize(
    "query",
    [
        "&".join(f"a{n}=1" for n in range(101)),
        "filter=" + "a" * 17_000,
        "sort=" + ",".join("title" for _ in range(9)),
        "sort=" + "a" * 4_000,
        "fields=" + "a," * 300,
        "fields=title:excerpt(0)",
        "fields=title:nope(1)",
        "filter=title%20%3D%20%27%C3%28%27%20%26%26",
    ],
)
async def test_a_query_that_is_too_much(owner: Account, query: str) -> None:
    answer = await owner.api.get(f"{POSTS}?{query}")
    assert (answer.status_code, answer.json()["code"]) == (400, "validation_invalid_data")


@pytest.mark.parametrize(
    "path",
    [
        "/api/admins/nope",
        "/api/files",
        "/api/collections/nope",
        "/api/collections/posts/nope",
        "/api/collections/posts/records/",
        "/api/collections/posts/records/abcdefghij01234/more",
        "/api/collections/%2e%2e/records",
        "/api/collections/posts%00/records",
    ],
)
async def test_an_unknown_path(owner: Account, path: str) -> None:
    answer = await owner.api.get(path)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize("method", ["PUT", "OPTIONS", "TRACE", "PROPFIND"])
async def test_a_method_that_is_none(owner: Account, method: str) -> None:
    answer = await owner.api.request(method, POSTS)
    assert answer.status_code == (204 if method == "OPTIONS" else 404)
    assert (await owner.api.get(POSTS)).status_code == 200
