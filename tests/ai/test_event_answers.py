"""The client's side of a stream, for a client that does not keep up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from starlette.types import Message

from masthead.ai.answer import DONE, HEARTBEAT, EventStream
from masthead.web.bodies import ClientDisconnected


class Client:
    """Takes each part when it is let, and in the meantime holds up whoever sends."""

    def __init__(self) -> None:
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()
        self.is_gone = False
        self.parts: list[bytes] = []
        self.begun = 0

    async def send(self, message: Message) -> None:
        self.begun += 1
        await self.may_go_on.wait()
        if self.is_gone:
            raise OSError
        if message["type"] == "http.response.body":
            self.parts.append(message["body"])


def text(piece: str) -> bytes:
    return b'data: {"text":"%s"}\n\n' % piece.encode()


@pytest.fixture
async def client() -> Client:
    return Client()


@pytest.fixture
async def stream(client: Client) -> AsyncIterator[EventStream]:
    stream = EventStream(client.send)
    await stream.open()
    yield stream
    client.may_go_on.set()


async def test_who_keeps_up_has_the_text_at_once(client: Client, stream: EventStream) -> None:
    assert stream.texts(["a", "b"])
    assert stream.texts(["c"])
    assert client.parts == [text("a") + text("b"), text("c")]
    await stream.drained()


async def test_who_does_not_is_waited_for(client: Client, stream: EventStream) -> None:
    client.may_go_on.clear()
    assert not stream.texts(["a"])
    draining = asyncio.create_task(stream.drained())
    await asyncio.sleep(0)
    assert not draining.done()
    client.may_go_on.set()
    await draining
    assert stream.texts(["b"])
    assert client.parts == [text("a"), text("b")]


async def test_text_that_comes_during_a_heartbeat_comes_after_it(
    client: Client, stream: EventStream
) -> None:
    client.may_go_on.clear()
    beating = asyncio.create_task(stream.beat())
    await asyncio.sleep(0)
    assert not stream.texts(["a"])
    assert not stream.texts(["b"])
    draining = asyncio.create_task(stream.drained())
    await asyncio.sleep(0)
    assert client.begun == 2
    client.may_go_on.set()
    await asyncio.gather(beating, draining)
    assert client.parts == [HEARTBEAT, text("a") + text("b")]


async def test_there_is_no_heartbeat_while_something_is_on_its_way(
    client: Client, stream: EventStream
) -> None:
    client.may_go_on.clear()
    stream.texts(["a"])
    await stream.beat()
    client.may_go_on.set()
    await stream.drained()
    assert client.parts == [text("a")]


async def test_the_end_comes_last_and_once(client: Client, stream: EventStream) -> None:
    client.may_go_on.clear()
    stream.texts(["a"])
    endings = [asyncio.create_task(stream.finish()) for _ in range(2)]
    await asyncio.sleep(0)
    client.may_go_on.set()
    await asyncio.gather(*endings)
    await stream.beat()
    assert client.parts == [text("a"), DONE]


async def test_whoever_waits_may_give_up_and_another_ends_the_stream(
    client: Client, stream: EventStream
) -> None:
    client.may_go_on.clear()
    stream.texts(["a"])
    draining = asyncio.create_task(stream.drained())
    await asyncio.sleep(0)
    draining.cancel()
    await asyncio.gather(draining, return_exceptions=True)
    client.may_go_on.set()
    await stream.finish({"error": "no"})
    assert client.parts[-1] == b'data: {"error":"no"}\n\n' + DONE


@pytest.mark.parametrize("is_slow", [True, False])
async def test_a_client_that_is_gone_is_told_apart(
    client: Client, stream: EventStream, is_slow: bool
) -> None:
    client.is_gone = True
    if is_slow:
        client.may_go_on.clear()
        assert not stream.texts(["a"])
        client.may_go_on.set()
        with pytest.raises(ClientDisconnected):
            await stream.drained()
    else:
        with pytest.raises(ClientDisconnected):
            stream.texts(["a"])
