"""Streams of `masthead serve`: a client that disconnects, and SIGTERM during an answer."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from tests.features.ai.provider import Hand, plays, text_event
from tests.features.ai.stream import GENERATE, PATH
from tests.service.cli.running import Running, serving
from tests.stopwatch import Stopwatch
from tests.tls import Exchange, Receiver


@pytest.fixture
def served(tmp_path: Path, provider: Receiver) -> Iterator[Running]:
    platform = {
        "MASTHEAD_AI_PROVIDER": "openai",
        "MASTHEAD_AI_BASE_URL": provider.url("/v1"),
        "MASTHEAD_AI_KEY": "sk-platform",
    }
    with serving(tmp_path / "data", **platform) as running:
        yield running


@asynccontextmanager
async def begun(served: Running, hand: Hand) -> AsyncIterator[AsyncIterator[str]]:
    """The lines of an answer after its first text."""
    async with (
        httpx.AsyncClient(timeout=120) as client,
        client.stream("POST", served.address + PATH, json=GENERATE) as response,
    ):
        lines = response.aiter_lines()
        await hand.send(text_event("openai", "Once"))
        assert await anext(lines) == 'data: {"text":"Once"}'
        yield lines


async def test_a_disconnected_client_ends_the_providers_call(
    served: Running, provider: Receiver
) -> None:
    hand = Hand()
    provider.next(hand)
    async with begun(served, hand):
        pass
    left = Stopwatch(served.process.pid)
    await asyncio.wait_for(hand.hung_up.wait(), 120)
    assert left.seconds() < 1


async def test_sigterm_ends_the_stream_with_a_last_event(
    served: Running, provider: Receiver
) -> None:
    hand = Hand()
    provider.next(hand)
    async with begun(served, hand) as lines:
        told = Stopwatch(served.process.pid)
        served.process.send_signal(signal.SIGTERM)
        rest = [line async for line in lines if line]
    # The exit of the interpreter depends on the machine.
    assert told.seconds() < 5
    assert rest == [
        'data: {"event":"stream_failed","reason":"service_stopping","retryable":true}',
        "data: [DONE]",
    ]
    assert await asyncio.to_thread(served.process.wait, 60) == 0


async def test_a_client_that_reads_late_gets_all_of_it(served: Running, provider: Receiver) -> None:
    # Six bytes each in JSON: more than all the buffers on the way hold.
    words = ["\1" * 999 + str(number % 10) for number in range(390)]
    content = b"".join(text_event("openai", word) for word in words) + b"data: [DONE]\n\n"
    is_sent = asyncio.Event()

    async def play(exchange: Exchange) -> None:
        await plays(content, size=4096)(exchange)
        is_sent.set()

    provider.next(play)
    host, _, port = served.address.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=2048)
    body = json.dumps(GENERATE).encode()
    head = f"POST {PATH} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    await is_sent.wait()
    received = b""
    while b"[DONE]" not in received[-100:]:
        received += await reader.read(1 << 20)
    writer.close()
    pieces = re.findall(rb"data: (\{.*?\})\n\n", received)
    assert [json.loads(piece)["text"] for piece in pieces] == words
