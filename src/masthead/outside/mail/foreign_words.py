"""Messages of other servers about an email, as they can be stored and shown."""

from __future__ import annotations


def readable(text: str) -> str:
    """In one line. A server may answer with any bytes, and not all of them could be stored."""
    shown = (c if c.isprintable() or c.isspace() else "\ufffd" for c in text)
    return " ".join("".join(shown).split())
