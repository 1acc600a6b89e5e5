"""The results of outgoing calls."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec


class Answer(msgspec.Struct, frozen=True):
    status: int
    body_start: bytes
    duration_ms: int
    retry_after: int | None = None
    """Seconds."""


class Download(msgspec.Struct, frozen=True):
    url: str
    """After redirects."""
    content_type: str
    """As declared by the server; can't be trusted."""
    chunks: AsyncIterator[bytes]
