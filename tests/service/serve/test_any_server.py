"""The application is plain ASGI: a server that is not ours runs it, worker and all."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from tests.forking import forked_program
from tests.service.cli.commands import plain_environment

START_SECONDS = 120


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def wait_for_health(process: subprocess.Popen[bytes], url: str) -> httpx.Response:
    latest = time.monotonic() + START_SECONDS
    while time.monotonic() < latest and process.poll() is None:
        try:
            return httpx.get(f"{url}/api/health", timeout=120)
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError("uvicorn did not serve")


@pytest.mark.sweep
def test_uvicorn_runs_the_service(tmp_path: Path) -> None:
    port = free_port()
    environment = plain_environment(MASTHEAD_DATA_DIR=str(tmp_path / "data"))
    create = (
        "--slug acme --name A --plan pro --owner-email a@b.example --owner-password a-long-word"
    )
    subprocess.run(
        [forked_program(), "tenant", "create", *create.split()],
        env=environment,
        check=True,
        capture_output=True,
    )
    command = [sys.executable, "-m", "uvicorn", "--factory", "masthead.service.app:create_app"]
    process = subprocess.Popen(
        [*command, "--port", str(port)], env=environment, stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}"
    try:
        assert wait_for_health(process, url).json()["status"] == "ok"
        listed = httpx.get(
            f"{url}/api/collections/posts/records", headers={"Host": "acme.localhost"}, timeout=120
        )
        assert listed.status_code == 200
    finally:
        process.terminate()
        assert process.wait(timeout=120) in (0, -15)
