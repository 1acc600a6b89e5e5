"""Reads the answer of `/api/ai/generate` with an independent client, httpx-sse."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import httpx
from httpx_sse import aconnect_sse

PATH = "/api/ai/generate"
KEY = "sk-tenant-0123456789abcdef"
PLATFORM_KEY = "sk-platform-fedcba9876543210"
GENERATE = {"action": "generate", "prompt": "Write about tides."}


@dataclass
class Answered:
    status: int
    headers: httpx.Headers
    events: list[dict[str, Any]] = field(default_factory=list)
    """Everything before the terminator, which came exactly once and last."""
    error: dict[str, Any] = field(default_factory=dict)
    """The envelope's, where there was no stream."""

    @property
    def pieces(self) -> list[str]:
        return [event["text"] for event in self.events if "text" in event]

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def last(self) -> dict[str, Any]:
        return self.events[-1]


async def read_answer(client: httpx.AsyncClient, body: dict[str, Any]) -> Answered:
    async with aconnect_sse(client, "POST", PATH, json=body or GENERATE) as source:
        response = source.response
        if response.status_code != 200:
            await response.aread()
            return Answered(response.status_code, response.headers, error=response.json()["error"])
        received = [event.data async for event in source.aiter_sse()]
    assert received.count("[DONE]") == 1
    assert received[-1] == "[DONE]"
    return Answered(200, response.headers, [json.loads(data) for data in received[:-1]])


def failed(reason: str, *, retryable: bool = True) -> dict[str, Any]:
    return {"event": "stream_failed", "reason": reason, "retryable": retryable}
