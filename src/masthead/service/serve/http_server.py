"""The HTTP server: Granian, in the service's own event loop, on an open socket.

Without TLS it supports HTTP/1.1 only: while Granian detects a client's version, no timeout applies,
so a silent connection would stay open forever. With TLS the client negotiates the version in the
handshake (ALPN), so HTTP/2 is supported as well.
"""

from __future__ import annotations

import os
import socket
from typing import Any

from granian._granian import SocketHolder
from granian.constants import HTTPModes, Interfaces, SSLProtocols
from granian.http import HTTP1Settings, HTTP2Settings
from granian.server.embed import Server

from masthead.service.serve.listener import BACKLOG
from masthead.service.serve.tls import Certificate
from masthead.service.serve.unread_bodies import UnreadBodies
from masthead.web.asgi import ASGIApp

HEAD_SECONDS = 60
"""For reading a request's headers, and for an idle connection between two requests. Proxies close
or reuse theirs within 60 seconds."""
MAX_HEAD = 64 * 1024
"""Bytes of a request line with its headers."""
MAX_UNREAD = 256 * 1024
"""Bytes of bodies that an HTTP/2 connection may send before they are read."""


class HttpServer(Server):
    """Granian has no public way to pass an open socket; `_init_shared_socket` creates its own.
    `tests/service/serve/test_http_server.py` fails when that changes."""

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
            UnreadBodies(app),
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
                initial_connection_window_size=MAX_UNREAD,
                initial_stream_window_size=MAX_UNREAD,
                keep_alive_interval=30_000,
                keep_alive_timeout=20,
                max_headers_size=MAX_HEAD,
            ),
            ssl_cert=certificate.chain if certificate else None,
            ssl_key=certificate.key if certificate else None,
            ssl_protocol_min=SSLProtocols.tls12,
        )
        self._listener = listener

    def _init_shared_socket(self) -> None:
        # The holder closes its descriptor, hence the dup. Granian has no type hints for it.
        descriptor: Any = os.dup(self._listener.fileno())
        holder: Any = SocketHolder
        self._sfd = descriptor
        self._shd = holder(descriptor, False, BACKLOG)
