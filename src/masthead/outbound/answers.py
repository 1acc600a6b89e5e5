"""The results of outgoing calls."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body_start: bytes
    duration_ms: int
    retry_after: int | None = None
    """Seconds."""


@dataclass(frozen=True, slots=True)
class Download:
    url: str
    """After redirects."""
    content_type: str
    """As declared by the server; can't be trusted."""
    chunks: AsyncIterator[bytes]
