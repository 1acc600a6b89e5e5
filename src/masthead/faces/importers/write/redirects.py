"""Redirects from old addresses: each is stored once, as created by the run, so that an undo removes
it, and collected as CSV."""

from __future__ import annotations

import csv
import io
import tempfile
from collections import Counter
from collections.abc import Iterable
from typing import IO, Final, Literal

from msgspec import Struct

from masthead.base.errors import Invalid
from masthead.base.languages.words import staff_marked, staff_words
from masthead.base.spreadsheet_cells import guard_cell
from masthead.engine.records.collection import Record
from masthead.faces.importers.write.destination import Destination
from masthead.faces.importers.write.dry_unit import AnyUnit
from masthead.faces.importers.write.previous_imports import Item
from masthead.features.site.redirects import redirects

PERMANENT: Final = 301
SHOWN_CHARACTERS: Final = 200
DELETED: Final = staff_marked("Its redirect was deleted here.")

RedirectKind = Literal["posts", "pages", "feeds", "archives", "tags", "authors", "pictures"]


class Redirect(Struct, frozen=True):
    kind: RedirectKind
    source: str
    destination: str


class NewRedirects:
    """The redirects of one transaction."""

    def __init__(
        self, unit: AnyUnit, destination: Destination, new_items: dict[str, Item], *, may_move: bool
    ) -> None:
        """`may_move`: a redirect from an earlier import may change its destination, unless someone
        here has changed it since."""
        self._unit = unit
        self._destination = destination
        self._new_items = new_items
        self._may_move = may_move
        self._existing: dict[str, Record] = {}
        self._known: dict[str, Item] = {}

    async def load(self, sources: Iterable[str]) -> None:
        """Those that are there already. Before `add`, for all sources together."""
        wanted = set(sources) - {""}
        self._existing |= await self._destination.previous.records(
            redirects.name, wanted, self._unit, by="source"
        )
        keys = [key_of_redirect(each) for each in wanted]
        self._known |= await self._destination.items(keys, self._unit)

    async def add(self, redirect: Redirect) -> str:
        """Returns a warning where the old address does not lead there."""
        existing = self._existing.get(redirect.source)
        known = self._known.get(key_of_redirect(redirect.source))
        if existing is None:
            return await self._create(redirect) if known is None else DELETED
        if existing["destination"] == redirect.destination:
            return ""
        if not self._may_move or known is None or known.record_version != existing["version"]:
            return staff_words(
                "The old address %(source)s leads to %(destination)s already.",
                source=redirect.source,
                destination=existing["destination"],
            )
        changes = {"destination": redirect.destination}
        self._note(redirect, await self._unit.update(redirects, existing["id"], changes), known)
        return ""

    async def _create(self, redirect: Redirect) -> str:
        values = {
            "source": redirect.source,
            "destination": redirect.destination,
            "status_code": PERMANENT,
        }
        try:
            made = await self._unit.create(redirects, values)
        except Invalid:
            return staff_words(
                "The old address %(source)s can't be redirected.",
                source=redirect.source[:SHOWN_CHARACTERS],
            )
        self._note(redirect, made, None)
        return ""

    def _note(self, redirect: Redirect, record: Record, known: Item | None) -> None:
        self._existing[redirect.source] = record
        item = self._destination.item_of(record, redirects.name, "", known)
        self._new_items[key_of_redirect(redirect.source)] = item


def key_of_redirect(source: str) -> str:
    return f"redirect:{source}"


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
