"""nginx in front of the service, as a cache that all readers share."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

# Debian has it where only root looks for programs.
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin")

needs_nginx = pytest.mark.skipif(
    NGINX is None, reason="nginx is missing: install nginx-light, as .ci/run does"
)

_CONFIGURATION = """
daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/errors;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/bodies;
  proxy_temp_path {folder}/temporary;
  fastcgi_temp_path {folder}/unused1;
  uwsgi_temp_path {folder}/unused2;
  scgi_temp_path {folder}/unused3;
  proxy_cache_path {folder}/cache keys_zone=shared:1m;
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://127.0.0.1:{behind};
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_cache shared;
      proxy_cache_key $http_host$request_uri;
      # What says nothing about caches is stored, too, as many sites set it.
      proxy_cache_valid any 1h;
      add_header X-Cache $upstream_cache_status always;
    }}
  }}
}}
"""


@contextlib.asynccontextmanager
async def caching(behind: int, folder: Path) -> AsyncIterator[str]:
    """The address of a cache in front of a port."""
    assert NGINX
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    file = folder / "nginx.conf"
    file.write_text(_CONFIGURATION.format(folder=folder, port=port, behind=behind))
    process = await asyncio.create_subprocess_exec(
        NGINX, "-p", str(folder), "-c", str(file), stderr=asyncio.subprocess.PIPE
    )
    try:
        await _listens(process, port)
        yield f"http://127.0.0.1:{port}"
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _listens(process: asyncio.subprocess.Process, port: int) -> None:
    while True:
        assert process.returncode is None, process.stderr and await process.stderr.read()
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionRefusedError:
            await asyncio.sleep(0.01)
        else:
            writer.close()
            return
