"""A real S3 server (SeaweedFS) on loopback ports, for any test that stores objects."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from masthead.base.errors import Unavailable
from masthead.storage.open_objects import open_object_store

WEED = Path(sys.executable).parent / "weed"
BUCKET = "masthead-test"
_PARTS = ("master", "volume", "filer", "s3", "admin")


@dataclass(frozen=True)
class S3Server:
    endpoint: str
    access_key: str
    secret_key: str

    def new_url(self) -> str:
        """A storage URL of its own: a fresh prefix in the server's bucket."""
        return f"s3://{BUCKET}/{secrets.token_hex(6)}"

    @property
    def environ(self) -> dict[str, str]:
        """The variables that a process needs to reach this server."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": "us-east-1",
        }


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    folder = tmp_path_factory.mktemp("s3")
    ports = _free_ports(2 * len(_PARTS))
    port_flags = []
    for part in _PARTS:
        port_flags += [f"-{part}.port={ports.pop()}", f"-{part}.port.grpc={ports.pop()}"]
    s3_port = next(flag.partition("=")[2] for flag in port_flags if flag.startswith("-s3.port="))
    server = S3Server(f"http://127.0.0.1:{s3_port}", "test-access-key", secrets.token_hex(16))
    command = [
        str(WEED),
        "mini",
        f"-dir={folder}",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        f"-bucket={BUCKET}",
        "-webdav=false",
        "-admin.ui=false",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        *port_flags,
    ]
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            env={**os.environ, **server.environ, "HOME": str(folder)},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait_until_ready(server, process, log)
        yield server
    finally:
        # Its data is thrown away, so there is nothing to wait for.
        process.kill()
        process.wait()


@pytest.fixture
def s3_environ(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The server, with its address and keys in this process's environment."""
    for name, value in s3_server.environ.items():
        monkeypatch.setenv(name, value)
    return s3_server


def _free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _wait_until_ready(server: S3Server, process: subprocess.Popen[bytes], log: Path) -> None:
    store = open_object_store(server.new_url(), server.environ)
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        try:
            asyncio.run(store.put("ready", b""))
        except Unavailable:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError("SeaweedFS did not start: " + log.read_text(errors="replace"))
