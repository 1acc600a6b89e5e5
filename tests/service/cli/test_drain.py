"""SIGTERM under load: every accepted request gets a full answer, and its write is durable."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.service.cli.running import Running, serving

pytestmark = pytest.mark.sweep

CLIENTS = 12
BEFORE_THE_SIGNAL = 60
"""Posts that are created before the signal."""


@dataclass
class Load:
    port: int
    token: str
    created: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    """Connections that were made and not answered in full."""
    enough: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, *, keep_alive: bool) -> None:
        """One client, until the server takes no more connections."""
        while True:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            except ConnectionError:
                return
            try:
                await self._send_requests(reader, writer, keep_alive=keep_alive)
            except (asyncio.IncompleteReadError, ConnectionError) as error:
                self.lost.append(repr(error))
            finally:
                writer.close()

    async def _send_requests(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, keep_alive: bool
    ) -> None:
        while True:
            body = json.dumps({"title": "Written while stopping", "status": "draft"})
            request = (
                "POST /api/collections/posts/records HTTP/1.1\r\n"
                f"Host: demo.localhost\r\nAuthorization: {self.token}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
            )
            writer.write(request.encode())
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = re.search(rb"content-length: (\d+)", head)
            assert length, head
            answer = json.loads(await reader.readexactly(int(length[1])))
            assert head.startswith(b"http/1.1 200"), answer
            self.created.append(answer["id"])
            if len(self.created) >= BEFORE_THE_SIGNAL:
                self.enough.set()
            if not keep_alive or b"connection: close" in head:
                return


def token_of(server: Running) -> str:
    _, admin, _ = (server.line() for _ in range(3))
    words = admin.split()
    answer = server.post(
        "/api/collections/_superusers/auth-with-password",
        {"identity": words[3], "password": words[5]},
    )
    return answer.json()["token"]


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_no_accepted_request_is_lost(workers: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(data, "--demo", "--workers", workers) as server:
        load = Load(server.port, token_of(server))
        clients = [
            asyncio.create_task(load.run(keep_alive=bool(number % 2))) for number in range(CLIENTS)
        ]
        await asyncio.wait_for(load.enough.wait(), 120)
        server.process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(asyncio.gather(*clients), 120)
        assert server.process.wait(timeout=120) == 0
        assert load.lost == []
        log = (tmp_path / "data.log").read_text()
        assert "Traceback" not in log
    assert len(load.created) >= BEFORE_THE_SIGNAL
    with serving(data, "--demo") as server:
        token = token_of(server)
        stored = set()
        for page in range(1, len(load.created) // 500 + 2):
            listed = server.get(
                f"/api/collections/posts/records?perPage=500&page={page}&fields=id",
                Authorization=token,
            )
            stored |= {each["id"] for each in listed.json()["items"]}
        assert set(load.created) <= stored
