"""A document that never changes is made for the first request that asks for it."""

from __future__ import annotations

import threading

import httpx
from tests.web.routed import routed

from masthead.web.openapi.endpoints import StaticResponse


async def test_it_is_made_once_and_not_on_the_event_loop() -> None:
    threads: list[int] = []

    def make() -> bytes:
        threads.append(threading.get_ident())
        return b"{}"

    transport = httpx.ASGITransport(routed([StaticResponse(make, "application/json").at("/")]))
    assert not threads
    async with httpx.AsyncClient(transport=transport, base_url="http://example.com") as http:
        first, second = await http.get("/"), await http.get("/")
        tag = {"if-none-match": first.headers["etag"]}
        unchanged = await http.get("/", headers=tag)
    assert (first.content, second.content, unchanged.status_code) == (b"{}", b"{}", 304)
    assert len(threads) == 1
    assert threads != [threading.get_ident()]
