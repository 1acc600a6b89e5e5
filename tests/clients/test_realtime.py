"""The realtime services of PocketBase's own clients, against a real server."""

from __future__ import annotations

import asyncio
import sys

from tests.clients.node import HERE, run_node
from tests.conftest import Server
from tests.world import PASSWORD


async def test_the_javascript_client(server: Server) -> None:
    owner, member = await server.tenant.owner(), await server.tenant.member()
    finished = await run_node(
        HERE / "realtime.mjs",
        server.url,
        owner.email,
        member.email,
        PASSWORD,
        env={"NODE_OPTIONS": "--experimental-eventsource --no-warnings"},
    )
    assert (finished.errors, finished.output) == ("", "ok\n")


async def test_the_python_client(server: Server) -> None:
    owner = await server.tenant.owner()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(HERE / "realtime_python.py"),
        server.url,
        owner.email,
        PASSWORD,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await process.communicate()
    assert (errors.decode(), output.decode()) == ("", "ok\n")
