"""Writes emails as `.eml` files, for an installation without an SMTP server."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from masthead.mail.message import ComposedMail


class MailFolder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def send(self, mail_id: str, mail: ComposedMail) -> None:
        # The date first, so that files sort by time; a repeat replaces its own file.
        name = f"{mail.written:%Y%m%dT%H%M%S}-{mail_id}.eml"
        await asyncio.to_thread(_write, self._folder / name, mail.content)


def _write(path: Path, content: bytes) -> None:
    """Written atomically, and readable by the service's user only: emails hold secret links."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
