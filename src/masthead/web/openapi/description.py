"""What a row of a route says of itself in the service's description."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Description:
    summary: str
