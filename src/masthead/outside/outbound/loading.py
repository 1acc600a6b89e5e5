"""Loads what the first outgoing call needs."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

from masthead.outside.outbound.tls import tls_context


async def load_http(ca_file: Path | None) -> ssl.SSLContext:
    """The HTTP library, and the authorities to trust. Both take a tenth of a second, in which the
    event loop would answer nothing, and most processes make no outgoing call."""
    return await asyncio.to_thread(_load, ca_file)


def _load(ca_file: Path | None) -> ssl.SSLContext:
    import masthead.outside.outbound.http_calls
    import masthead.outside.outbound.streamed_response  # noqa: F401

    return tls_context(ca_file)
