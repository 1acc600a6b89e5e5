"""A realtime client that shows the lines themselves: real clients hide ids and reconnect."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import msgspec

WAIT_SECONDS = 10.0
QUIET_SECONDS = 0.4


@dataclass(frozen=True)
class Message:
    id: str
    name: str
    data: dict[str, Any]

    @property
    def action(self) -> str:
        return str(self.data["action"])

    @property
    def record(self) -> dict[str, Any]:
        record: dict[str, Any] = self.data["record"]
        return record


class Listener:
    def __init__(self, api: httpx.AsyncClient, response: httpx.Response) -> None:
        self.api = api
        self.response = response
        self._messages: asyncio.Queue[Message | None] = asyncio.Queue()
        self.comments: asyncio.Queue[str] = asyncio.Queue()
        self.task = asyncio.create_task(self._read())
        self.hello = Message("", "", {})

    @property
    def client_id(self) -> str:
        return str(self.hello.data["clientId"])

    async def _read(self) -> None:
        try:
            lines: list[str] = []
            async for line in self.response.aiter_lines():
                if line.startswith(":"):
                    self.comments.put_nowait(line)
                    continue
                if line:
                    lines.append(line)
                    continue
                found = dict(each.split(":", 1) for each in lines)
                data = msgspec.json.decode(found["data"])
                self._messages.put_nowait(Message(found["id"], found["event"], data))
                lines = []
        except httpx.HTTPError:
            pass
        finally:
            self._messages.put_nowait(None)

    async def post(self, *topics: str, token: str = "") -> httpx.Response:
        body = {"clientId": self.client_id, "subscriptions": list(topics)}
        headers = {"authorization": token} if token else {}
        return await self.api.post("/api/realtime", json=body, headers=headers)

    async def subscribe(self, *topics: str, token: str = "") -> None:
        answer = await self.post(*topics, token=token)
        assert answer.status_code == 204, answer.text

    async def next(self) -> Message:
        message = await asyncio.wait_for(self._messages.get(), WAIT_SECONDS)
        assert message is not None, "the connection has ended"
        return message

    @property
    def waiting(self) -> int:
        """How many messages have come and were not taken."""
        return self._messages.qsize() - self.task.done()

    async def some(self, count: int) -> list[Message]:
        return [await self.next() for _ in range(count)]

    async def nothing_more(self) -> None:
        await asyncio.sleep(QUIET_SECONDS)
        assert self._messages.empty(), self._messages.get_nowait()

    async def so_far(self) -> list[Message]:
        """All that has arrived, and does in a moment."""
        await asyncio.sleep(QUIET_SECONDS)
        found = []
        while not self._messages.empty():
            message = self._messages.get_nowait()
            assert message is not None, "the connection has ended"
            found.append(message)
        return found

    async def end(self) -> None:
        """Waits until the service ends the connection."""
        assert await asyncio.wait_for(self._messages.get(), WAIT_SECONDS) is None


@asynccontextmanager
async def listening(
    url: str, host: str = "", last_id: str = "", *, path: str = "/api/realtime", cookie: str = ""
) -> AsyncIterator[Listener]:
    headers = {"host": host} if host else {}
    if cookie:
        headers["cookie"] = cookie
    sent = {"last-event-id": last_id} if last_id else {}
    async with (
        httpx.AsyncClient(base_url=url, headers=headers, timeout=60, verify=False) as api,
        api.stream("GET", path, headers=sent) as response,
    ):
        assert response.status_code == 200, await response.aread()
        listener = Listener(api, response)
        try:
            listener.hello = await listener.next()
            yield listener
        finally:
            listener.task.cancel()
            await asyncio.wait([listener.task])
