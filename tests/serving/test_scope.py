"""What the application is told of a request: as by uvicorn, under which it runs as well."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.serving.peer import echo, request, serving
from tests.v1.serving import serving as serving_by_uvicorn

from masthead.serving.scopes import address


def scope_for(raw: bytes) -> dict[str, Any]:
    with serving(echo) as served, served.connect() as peer:
        peer.send(raw)
        assert peer.answer().status == 200
        scope = dict(served.scopes[0])
        assert scope.pop("client") == peer.socket.getsockname()
        assert scope.pop("server") == ("127.0.0.1", served.port)
        return scope


def test_a_scope_has_all_there_is_to_know() -> None:
    raw = request("/p%C3%A4th/a%2Fb?q=%20x&y", "PATCH", b"x", X_Twice="1", x_twice="2")
    assert scope_for(raw) == {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "scheme": "http",
        "method": "PATCH",
        "root_path": "",
        "path": "/päth/a/b",
        "raw_path": b"/p%C3%A4th/a%2Fb",
        "query_string": b"q=%20x&y",
        "headers": [
            (b"host", b"a.example"),
            (b"x-twice", b"1"),
            (b"x-twice", b"2"),
            (b"content-length", b"1"),
        ],
    }


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        ("/", "/", b""),
        ("/a?", "/a", b""),
        ("/a?b?c", "/a", b"b?c"),
        ("//a//b", "//a//b", b""),
        ("/a#b", "/a", b""),
        ("/a?b#c", "/a", b"b"),
        ("http://a.example/b?c", "/b", b"c"),
        ("http://A.example", "/", b""),
        ("/a%00b", "/a\0b", b""),
        ("/%zz", "/%zz", b""),
    ],
)
def test_targets(target: str, path: str, query: bytes) -> None:
    scope = scope_for(request(target))
    assert (scope["path"], scope["query_string"]) == (path, query)


def test_a_question_about_the_server_itself() -> None:
    scope = scope_for(request("*", "OPTIONS"))
    assert (scope["method"], scope["path"], scope["raw_path"]) == ("OPTIONS", "/", b"/")


def test_http_1_0_is_told() -> None:
    assert scope_for(b"GET / HTTP/1.0\r\n\r\n")["http_version"] == "1.0"


def test_a_socket_without_an_address_has_none() -> None:
    assert address("/run/masthead.sock") is None
    assert address(("::1", 80, 0, 0)) == ("::1", 80)


async def test_uvicorn_tells_the_same() -> None:
    raw = request("/p%C3%A4th//a%2Fb?q=%20x&y", "PUT", b"x", X_Twice="1", Connection="close")
    ours = scope_for(raw)
    theirs: list[dict[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        theirs.append(dict(scope))
        await echo(scope, receive, send)

    async with serving_by_uvicorn(app) as url:
        await _ask(int(url.rpartition(":")[2]), raw)
    # uvicorn's has extras, and may know a later revision of ASGI 3.
    assert ours | {"asgi": None} == {name: theirs[0][name] for name in ours} | {"asgi": None}


async def _ask(port: int, raw: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(raw)
    await reader.read()
    writer.close()
    await writer.wait_closed()
