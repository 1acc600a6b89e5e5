"""Writes emails as `.eml` files, for an installation without an SMTP server."""

from __future__ import annotations

import asyncio
from pathlib import Path

from masthead.base.whole_file import replacing_file
from masthead.outside.mail.message import ComposedMail


class MailFolder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def send(self, mail_id: str, mail: ComposedMail) -> None:
        # The date first, so that files sort by time; a repeat replaces its own file.
        name = f"{mail.written:%Y%m%dT%H%M%S}-{mail_id}.eml"
        await asyncio.to_thread(_write, self._folder / name, mail.content)


def _write(path: Path, content: bytes) -> None:
    """Only the service's user can read it: emails have secret links."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with replacing_file(path) as file:
        file.write(content)
