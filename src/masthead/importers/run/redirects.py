"""Writes the redirects as CSV, safe to open in a spreadsheet program."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from masthead.errors import MastheadError

COLUMNS: Final = ("source", "destination", "status_code")
PERMANENT: Final = 301
_IN_MEMORY: Final = 1024 * 1024
_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "\n")


class CannotWrite(MastheadError):
    message = "The file can't be written."


def new_path(slug: str) -> str:
    return f"/posts/{slug}"


def guarded(cell: str) -> str:
    """With a quote before text that a spreadsheet program would run as a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA_STARTS) else cell


class RedirectRows:
    """Collected during a run, and saved after it."""

    def __init__(self) -> None:
        self._file: IO[str] = tempfile.SpooledTemporaryFile(  # noqa: SIM115 (close() ends it)
            _IN_MEMORY, "w+", encoding="utf-8", newline=""
        )
        self._writer = csv.writer(self._file)
        self._writer.writerow(COLUMNS)
        self.count = 0

    def add(self, source: str, destination: str) -> None:
        self._writer.writerow((guarded(source), guarded(destination), PERMANENT))
        self.count += 1

    def content(self) -> bytes:
        self._file.seek(0)
        content = self._file.read().encode()
        self._file.seek(0, io.SEEK_END)
        return content

    def close(self) -> None:
        self._file.close()


def write_whole(path: Path, content: bytes) -> None:
    """Atomically: the file appears when it is complete."""
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise CannotWrite(f"{path} can't be written ({error.strerror}).") from error
