"""Writes the redirects as CSV, safe to open in a spreadsheet program."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from masthead.errors import MastheadError
from masthead.importers.run.new_redirects import PERMANENT, Redirect

COLUMNS: Final = ("source", "destination", "status_code")
_IN_MEMORY: Final = 1024 * 1024
_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "\n")


class CannotWrite(MastheadError):
    message = "The file can't be written."


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
        self.counts: Counter[str] = Counter()
        """By kind."""
        # Hashes, to save memory.
        self._listed: set[int] = set()

    @property
    def count(self) -> int:
        return self.counts.total()

    def add(self, redirects: Iterable[Redirect]) -> None:
        """Each old address once: the first that is given counts."""
        for each in redirects:
            if hash(each.source) not in self._listed:
                self._listed.add(hash(each.source))
                self._writer.writerow((guarded(each.source), guarded(each.destination), PERMANENT))
                self.counts[each.kind] += 1

    def content(self) -> bytes:
        self._file.seek(0)
        content = self._file.read().encode()
        self._file.seek(0, io.SEEK_END)
        return content

    def rows(self) -> list[dict[str, str]]:
        """As the report has them."""
        return list(csv.DictReader(io.StringIO(self.content().decode(), newline="")))

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
