"""A face that is built after the start answers as any other."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import httpx
from tests.web.routed import everywhere, routed

from masthead.base.errors import MastheadError, NotFound
from masthead.web.answers import Answer
from masthead.web.dispatch import Dispatch, LazyFace, LazyRoute
from masthead.web.request import Request


class Greeting:
    def __init__(self) -> None:
        self.routes = Dispatch([], everywhere(greet))

    async def error_answer(self, _: Request, error: MastheadError) -> Answer:
        return Answer(404, str(error).encode())


async def greet(request: Request) -> Answer:
    return Answer(200, request.path.encode())


async def no_body() -> Any:
    raise AssertionError("nobody reads it")


async def test_concurrent_requests_wait_for_one_build_beside_the_event_loop() -> None:
    threads: list[int] = []

    def build() -> Greeting:
        threads.append(threading.get_ident())
        return Greeting()

    face = LazyFace(build)
    paths = ("/hello", "/hello/{path:path}")
    app = routed([LazyRoute(path, face) for path in paths], everywhere(greet))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://example.com") as http:
        assert (await http.get("/elsewhere")).text == "/elsewhere"
        assert not threads
        answers = await asyncio.gather(*(http.get(path) for path in ("/hello", "/hello/you")))
    assert [answer.text for answer in answers] == ["/hello", "/hello/you"]
    assert len(threads) == 1
    assert threads != [threading.get_ident()]


async def test_an_error_before_the_first_request_is_shown_by_the_face() -> None:
    face = LazyFace(Greeting)

    answer = await face.error_answer(Request({}, no_body), NotFound("There is no such site."))
    assert isinstance(answer, Answer)
    assert (answer.status, answer.body) == (404, b"There is no such site.")
