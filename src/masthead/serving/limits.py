"""What a peer may ask of a connection before it is answered: sizes, counts and times."""

from __future__ import annotations

from dataclasses import dataclass

MAX_PIECE = 16 * 1024
"""Bytes that are parsed at a time. What they hold is known only afterwards, so that this much more
than a limit may be in memory."""
MAX_BEGUN = 100
"""Requests that one piece may hold, which is how many can be waiting behind another."""
SMALL_PIECE = MAX_BEGUN * len(b"GET / HTTP/1.1\r\n\r\n")
"""Bytes that can't hold more than those."""


@dataclass(frozen=True, slots=True)
class Limits:
    max_connections: int = 100_000
    """Those beyond it are closed at once. The command line sets it by the files that the process
    may have open."""
    max_head: int = 64 * 1024
    """Bytes of a request line with its headers, and of whatever else is no body."""
    max_headers: int = 100
    max_unread: int = 64 * 1024
    """Bytes of a body that nobody has asked for; then no more is read."""
    max_discarded: int = 1024**3
    """Bytes that a client may go on sending after its answer."""
    sweep_seconds: float = 5.0
    """Between two looks at all connections. A time below is over at most this much too soon."""
    head_seconds: float = 30.0
    """From the first byte of a head, or from the connection, to the head's end."""
    idle_seconds: float = 75.0
    """Between two requests. Proxies keep a connection for 60, and must be the first to leave it."""
    stalled_seconds: float = 60.0
    """Without a byte taken by a peer that has more to take than fits, and without one of a body
    that the application waits for."""
    linger_seconds: float = 30.0
    """For a client that goes on sending after its answer."""
    last_linger_seconds: float = 2.0
    """The same, when the service is about to end."""
