"""How many connections a process has, and how long they last."""

from __future__ import annotations

import msgspec


class RealtimeLimits(msgspec.Struct, frozen=True):
    """The limits of one process. A loopback address is that of a proxy, or of this machine: it has
    no limit."""

    per_site: int = 5_000
    per_address: int = 500
    options_per_address: int = 200
    """Different filters, expansions and fields of readers."""
    idle_seconds: float = 5 * 60.0
    """Without a message: then the connection is ended, as PocketBase does."""
    comment_seconds: float = 30.0
    """Without a message, a comment goes out so often: a proxy ends a connection that is silent."""
    whole_seconds: float = 30 * 60.0
