"""How name servers are asked: how long they are waited for, and when the library is loaded."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from masthead.outside.outbound.name_server import NameServer, NameServerFailed

_SCRIPT = """
import asyncio, sys, threading
from importlib.abc import MetaPathFinder
from masthead.outside.outbound.name_server import NameServer, NameServerFailed

class Watching(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name in ("dns.asyncresolver", "dns._asyncio_backend"):
            print(name, threading.current_thread() is threading.main_thread())

async def ask():
    try:
        await NameServer(("127.0.0.1", 0)).texts("example.com")
    except NameServerFailed:
        pass

assert "dns" not in sys.modules
sys.meta_path.insert(0, Watching())
asyncio.run(ask())
"""


def test_the_library_is_loaded_in_a_thread() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True, timeout=120
    )
    assert sorted(done.stdout.splitlines()) == [
        "dns._asyncio_backend False",
        "dns.asyncresolver False",
    ]


async def test_a_name_server_that_does_not_answer_is_not_waited_for() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        names = NameServer(silent.getsockname(), timeout_seconds=0.05)
        with pytest.raises(NameServerFailed):
            await names.texts("example.com")
