"""The HTTP server: Granian, inside the service's own event loop, on a socket that is already open.

Over plain HTTP it speaks HTTP/1.1 only: while Granian waits to see which version a client speaks,
no timeout applies, so a silent connection would be held forever. Over TLS the client names its
version in the handshake (ALPN), so there it speaks HTTP/2 as well.
"""

from __future__ import annotations

import os
import socket
from typing import Any

from granian._granian import SocketHolder
from granian.constants import HTTPModes, Interfaces, SSLProtocols
from granian.http import HTTP1Settings, HTTP2Settings
from granian.server.embed import Server
from starlette.types import ASGIApp

from masthead.serve.listener import BACKLOG
from masthead.serve.tls import Certificate

HEAD_SECONDS = 60
"""From the first byte of a request to the end of its headers, and how long a connection may be idle
between two requests. Proxies close theirs after 60 seconds or reuse them within it."""
MAX_HEAD = 64 * 1024
"""Bytes of a request line with its headers."""


class HttpServer(Server):
    """Granian has no public way to hand it an open socket; `_init_shared_socket` is where it makes
    its own. `tests/serve/test_http_server.py` fails when that changes."""

    def __init__(
        self,
        app: ASGIApp,
        listener: socket.socket,
        *,
        certificate: Certificate | None = None,
        max_connections: int = BACKLOG,
        head_seconds: float = HEAD_SECONDS,
    ) -> None:
        super().__init__(
            app,
            interface=Interfaces.ASGINL,
            http=HTTPModes.auto if certificate else HTTPModes.http1,
            backlog=BACKLOG,
            backpressure=max_connections,
            websockets=False,
            log_enabled=False,
            http1_settings=HTTP1Settings(
                header_read_timeout=round(head_seconds * 1_000), max_buffer_size=MAX_HEAD
            ),
            http2_settings=HTTP2Settings(
                keep_alive_interval=30_000, keep_alive_timeout=20, max_headers_size=MAX_HEAD
            ),
            ssl_cert=certificate.chain if certificate else None,
            ssl_key=certificate.key if certificate else None,
            ssl_protocol_min=SSLProtocols.tls12,
        )
        self._listener = listener

    def _init_shared_socket(self) -> None:
        # The holder closes what it is given. Granian's own type hints do not cover this part.
        descriptor: Any = os.dup(self._listener.fileno())
        holder: Any = SocketHolder
        self._sfd = descriptor
        self._shd = holder(descriptor, False, BACKLOG)
