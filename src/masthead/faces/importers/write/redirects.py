"""Collects the redirects of a run as CSV, safe to open in a spreadsheet program."""

from __future__ import annotations

import csv
import io
import tempfile
from collections import Counter
from collections.abc import Iterable
from typing import IO, Final

from masthead.base.spreadsheet_cells import guard_cell
from masthead.faces.importers.write.new_redirects import PERMANENT, Redirect

COLUMNS: Final = ("source", "destination", "status_code")
_IN_MEMORY: Final = 1024 * 1024


class RedirectRows:
    """Collected during a run, and saved after it."""

    def __init__(self) -> None:
        self._file: IO[str] = tempfile.SpooledTemporaryFile(  # noqa: SIM115 (close() ends it)
            _IN_MEMORY, "w+", encoding="utf-8", newline=""
        )
        self._writer = csv.writer(self._file)
        self._writer.writerow(COLUMNS)
        self.counts: Counter[str] = Counter()
        """Counts by kind."""
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
                self._writer.writerow(
                    (guard_cell(each.source), guard_cell(each.destination), PERMANENT)
                )
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
