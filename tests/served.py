"""An application on a real port of this machine."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import trustme
import uvicorn

from masthead.service.serve.http_server import HttpServer
from masthead.service.serve.tls import Certificate
from masthead.web.asgi import ASGIApp


class QuietServer(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # They belong to the test run.
        yield


@contextlib.asynccontextmanager
async def serving(
    app: ASGIApp, port: int = 0, *, listener: socket.socket | None = None
) -> AsyncIterator[str]:
    """The address that the application answers at: on a free port, the given one, or that of a
    socket which listens already."""
    config: Any = uvicorn.Config(app, port=port, log_config=None, lifespan="off", ws="none")
    server = QuietServer(config)
    running = asyncio.create_task(server.serve(sockets=[listener] if listener else None))
    while not server.started:
        await asyncio.sleep(0)
    bound = listener or server.servers[0].sockets[0]
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        server.should_exit = True
        await running


@contextlib.asynccontextmanager
async def serving_over_tls(
    app: ASGIApp, listener: socket.socket, folder: Path
) -> AsyncIterator[None]:
    """Serves with our own server and a certificate that no client trusts."""
    issued = trustme.CA().issue_cert("127.0.0.1")
    certificate = Certificate(folder / "cert.pem", folder / "key.pem")
    certificate.chain.write_bytes(b"".join(each.bytes() for each in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(certificate.key)
    listener.listen()
    server = HttpServer(app, listener, certificate=certificate)
    running = asyncio.create_task(server.serve())
    try:
        yield
    finally:
        listener.close()
        server.stop()  # type: ignore[no-untyped-call]
        await running
