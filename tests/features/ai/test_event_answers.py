"""The stream to a slow client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import pytest

from masthead.features.ai.answer import DONE, HEARTBEAT, EventStream
from masthead.web.answers import ClientDisconnected
from masthead.web.asgi import Message


class Client:
    """Receives each message on demand and blocks the sender in the meantime."""

    def __init__(self) -> None:
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()
        self.is_gone = False
        self.parts: list[bytes] = []

    async def send(self, message: Message) -> None:
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


async def begun(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Starts a task and runs it until it waits."""
    task = asyncio.create_task(work)
    await asyncio.sleep(0)
    return task


async def test_texts_are_sent_together_as_they_come(client: Client, stream: EventStream) -> None:
    await stream.texts(["a", "b"])
    await stream.texts(["c"])
    assert client.parts == [text("a") + text("b"), text("c")]


async def test_a_slow_client_is_waited_for(client: Client, stream: EventStream) -> None:
    client.may_go_on.clear()
    sending = await begun(stream.texts(["a"]))
    assert not sending.done()
    client.may_go_on.set()
    await sending
    assert client.parts == [text("a")]


@pytest.mark.both_databases
async def test_text_during_a_heartbeat_is_sent_after_it(
    client: Client, stream: EventStream
) -> None:
    client.may_go_on.clear()
    beating = await begun(stream.send_heartbeat())
    sending = await begun(stream.texts(["a"]))
    client.may_go_on.set()
    await asyncio.gather(beating, sending)
    assert client.parts == [HEARTBEAT, text("a")]


async def test_there_is_no_heartbeat_while_something_is_being_sent(
    client: Client, stream: EventStream
) -> None:
    client.may_go_on.clear()
    sending = await begun(stream.texts(["a"]))
    await stream.send_heartbeat()
    client.may_go_on.set()
    await sending
    assert client.parts == [text("a")]


@pytest.mark.both_databases
async def test_the_stream_ends_once(client: Client, stream: EventStream) -> None:
    client.may_go_on.clear()
    sending = await begun(stream.texts(["a"]))
    endings = [await begun(stream.finish()) for _ in range(2)]
    client.may_go_on.set()
    await asyncio.gather(sending, *endings)
    await stream.send_heartbeat()
    assert client.parts == [text("a"), DONE]


@pytest.mark.both_databases
async def test_a_sender_may_be_cancelled_and_another_ends_the_stream(
    client: Client, stream: EventStream
) -> None:
    client.may_go_on.clear()
    sending = await begun(stream.texts(["a"]))
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)
    client.may_go_on.set()
    await stream.finish({"error": "no"})
    assert client.parts[-1] == b'data: {"error":"no"}\n\n' + DONE


async def test_a_disconnected_client_is_detected(client: Client, stream: EventStream) -> None:
    client.is_gone = True
    with pytest.raises(ClientDisconnected):
        await stream.texts(["a"])
