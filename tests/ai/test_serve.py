"""Streams of `masthead serve` itself: a client that leaves, and SIGTERM in mid-answer."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from tests.ai.provider import Hand, text_event
from tests.ai.stream import GENERATE, PATH
from tests.cli.running import Running, serving
from tests.tls import Receiver


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
    """The lines of an answer whose first text has come."""
    async with (
        httpx.AsyncClient() as client,
        client.stream("POST", served.address + PATH, json=GENERATE) as response,
    ):
        lines = response.aiter_lines()
        await hand.send(text_event("openai", "Once"))
        assert await anext(lines) == 'data: {"text":"Once"}'
        yield lines


async def test_a_client_that_leaves_ends_the_providers_call(
    served: Running, provider: Receiver
) -> None:
    hand = Hand()
    provider.next(hand)
    async with begun(served, hand):
        pass
    left = time.monotonic()
    await asyncio.wait_for(hand.hung_up.wait(), 10)
    assert time.monotonic() - left < 1


async def test_sigterm_ends_the_stream_in_order(served: Running, provider: Receiver) -> None:
    hand = Hand()
    provider.next(hand)
    async with begun(served, hand) as lines:
        told = time.monotonic()
        served.process.send_signal(signal.SIGTERM)
        rest = [line async for line in lines if line]
    assert rest == [
        'data: {"event":"stream_failed","reason":"service_stopping","retryable":true}',
        "data: [DONE]",
    ]
    assert await asyncio.to_thread(served.process.wait, 10) == 0
    assert time.monotonic() - told < 5
