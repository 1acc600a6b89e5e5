"""PgBouncer in transaction mode in front of the tests' PostgreSQL: one per test process.

It has two servers for each database and takes the one that has waited longest, so that two
transactions of one connection run on different servers.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.databases import postgres_server

# Debian has it where only root looks for programs.
PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin")
START_SECONDS = 60

needs_pgbouncer = pytest.mark.skipif(
    PGBOUNCER is None, reason="PgBouncer is missing: install pgbouncer, as .ci/run does"
)

_CONFIGURATION = """
[databases]
* = host={server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = 2
server_round_robin = 1
; Tests have hundreds of databases, each for a moment.
server_idle_timeout = 2
max_client_conn = 1000
"""


def through_pooler(url: str) -> str:
    """The same database of `postgres_server`, through PgBouncer."""
    return f"postgresql://postgres@127.0.0.1:{_pooler()}{urlsplit(url).path}"


@cache
def _pooler() -> int:
    assert PGBOUNCER
    server = postgres_server()
    folder = Path(tempfile.mkdtemp(prefix="pgbouncer-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    socket_folder = parse_qs(urlsplit(server.get_uri()).query)["host"][0]
    configuration = folder / "pgbouncer.ini"
    configuration.write_text(_CONFIGURATION.format(server=socket_folder, port=port, folder=folder))
    (folder / "users").write_text('"postgres" ""\n')
    # Only the server's own user may open its socket; PgBouncer refuses to run as root.
    owner = Path(socket_folder).stat().st_uid
    os.chown(folder, owner, -1)
    as_owner = {"user": owner} if os.getuid() == 0 else {}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([PGBOUNCER, configuration], stdout=log, stderr=log, **as_owner)
    atexit.register(process.kill)
    _wait_for(port)
    return port


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.02)
