"""An AI provider on loopback: the receiver of the webhook tests, with the protocols of
both kinds of provider, from recordings or step by step."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path

from tests.databases import fresh_url
from tests.tls import Behaviour, Exchange, Receiver
from tests.world import RunningClock, World, open_world

RECORDINGS = Path(__file__).with_name("recordings")
PROVIDERS = ("openai", "anthropic")
TEXT = "Tides follow the moon,\ndía y noche 🌕."
PIECES = ["Tides", " follow the moon,\n", "día y noche 🌕."]
TOKENS = (57, 13)

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


async def world_with_ai(folder: Path, provider: Receiver) -> World:
    """A world in real time, whose only site may be called by any host and uses this provider."""
    return await open_world(
        fresh_url("sqlite", folder),
        folder,
        RunningClock(),
        MASTHEAD_DEFAULT_TENANT="demo",
        MASTHEAD_AI_PROVIDER="openai",
        MASTHEAD_AI_BASE_URL=provider.url("/v1"),
        MASTHEAD_AI_KEY="platform",
        MASTHEAD_AI_MODEL="small-1",
    )


def recording(provider: str) -> bytes:
    return (RECORDINGS / f"{provider}.txt").read_bytes()


def until(provider: str, mark: bytes) -> bytes:
    """The recording up to the event that contains the mark."""
    events = recording(provider).split(b"\n\n")
    kept = events[: next(number for number, event in enumerate(events) if mark in event)]
    return b"".join(event + b"\n\n" for event in kept)


def chunk(content: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(content), content)


def plays(content: bytes, *, size: int = 1 << 20, ends: bool = True) -> Behaviour:
    """Sends the content in chunks of some size; without an end the connection is cut."""

    async def behave(exchange: Exchange) -> None:
        await exchange.write(HEAD)
        for start in range(0, len(content), size):
            await exchange.write(chunk(content[start : start + size]))
        if ends:
            await exchange.write(END)
        else:
            exchange.close()

    return behave


def stalls_after(content: bytes) -> Behaviour:
    """Sends the content and then nothing more, until the caller disconnects."""

    async def behave(exchange: Exchange) -> None:
        await exchange.write(HEAD + (chunk(content) if content else b""))
        await exchange.reader.read()
        exchange.close()

    return behave


def repeats(content: bytes, interval_seconds: float = 0.005) -> Behaviour:
    async def behave(exchange: Exchange) -> None:
        await exchange.write(HEAD)
        while True:
            await exchange.write(chunk(content))
            await asyncio.sleep(interval_seconds)

    return behave


def text_event(provider: str, text: str) -> bytes:
    if provider == "openai":
        value: dict[str, object] = {"choices": [{"index": 0, "delta": {"content": text}}]}
        return f"data: {json.dumps(value)}\n\n".encode()
    value = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}}
    return f"event: content_block_delta\ndata: {json.dumps(value)}\n\n".encode()


@dataclass
class Hand:
    """Sends on demand; `hung_up` is set when the caller has disconnected."""

    connected: asyncio.Event = field(default_factory=asyncio.Event)
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    exchange: Exchange | None = None

    async def __call__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        await exchange.write(HEAD)
        self.connected.set()
        await exchange.reader.read()
        self.hung_up.set()
        exchange.close()

    async def send(self, content: bytes) -> None:
        await self.connected.wait()
        assert self.exchange is not None
        await self.exchange.write(chunk(content))
