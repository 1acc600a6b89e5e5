"""Which records use an uploaded file, and how many. The items of the media library hold the counts,
so that a list of unused ones reads no posts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from masthead.records.changes import Change
from masthead.records.collection import Collection, Listing, Listings, Record, collection_id
from masthead.records.write.unit import Unit

MEDIA: Final = "media"
"""The collection of uploaded files."""
USES: Final = "uses of media"
"""The listing of the records that use a file, by the file's id."""
# On any host, and by the record store's address, where a collection has two names.
_FILE_ADDRESS = re.compile(rf"/(?:{MEDIA}|{collection_id(MEDIA, False)})/([a-z0-9]{{15}})/")


class CountChange(NamedTuple):
    """By how much a count of a media item changes."""

    item_id: str
    field: str = ""
    """Empty: all counts of the item are counted anew."""
    number: int = 0


async def count_uses(unit: Unit, changes: Sequence[CountChange]) -> None:
    """Writes to the media items how many records use them now. At the end of a unit: a text that
    takes the place of its working copy changes little."""
    media = unit.registry[MEDIA]
    anew = sorted({each.item_id for each in changes if not each.field})
    net = _net_changes(changes)
    ids = sorted({*anew, *net})
    counted = await _count_anew(unit, anew)
    for item in await unit.find_some(media, ids) if ids else ():
        item_id = item["id"]
        counts = counted.get(item_id) or {
            name: max(item[name] + number, 0) for name, number in net[item_id].items()
        }
        await unit.stamp(media, item, counts)


def _net_changes(changes: Iterable[CountChange]) -> dict[str, dict[str, int]]:
    """By item and field; what comes to nothing is left out."""
    totals: dict[str, dict[str, int]] = {}
    for item_id, name, number in changes:
        if name:
            counts = totals.setdefault(item_id, {})
            counts[name] = counts.get(name, 0) + number
    net = {
        item_id: {name: number for name, number in counts.items() if number}
        for item_id, counts in totals.items()
    }
    return {item_id: counts for item_id, counts in net.items() if counts}


async def _count_anew(unit: Unit, item_ids: Sequence[str]) -> dict[str, dict[str, int]]:
    """From the lists of uses, for items whose counts say nothing yet."""
    if not item_ids:
        return {}
    using = {
        each.name: uses.counted_in for each in unit.registry.collections if (uses := uses_of(each))
    }
    counts = {each: dict.fromkeys(using.values(), 0) for each in item_ids}
    for item_id, name, total in await unit.count_listed(USES, item_ids, sorted(using)):
        counts[item_id][using[name]] += total
    return counts


@dataclass(frozen=True, slots=True)
class Uses:
    """Follows a collection whose records show or link to uploaded files: those whose addresses
    stand in these fields."""

    fields: tuple[str, ...]
    counted_in: str = "uses"
    """The field of a media item that counts the records of the collection that use it."""
    settle = staticmethod(count_uses)

    @property
    def listings(self) -> Listings:
        return Listings(by=self.fields, of=self._list)

    def _list(self, record: Record) -> Iterator[Listing]:
        for each in self.files(record):
            yield Listing(USES, each, record["created"])

    def files(self, record: Record | None) -> frozenset[str]:
        """The ids of the media items whose addresses the record holds. Some may not exist."""
        if record is None:
            return frozenset()
        texts = (str(record[name]) for name in self.fields)
        return frozenset(each for text in texts for each in _FILE_ADDRESS.findall(text))

    def note(self, change: Change) -> Iterator[CountChange]:
        if not change.touches(self.fields):
            return
        before, after = self.files(change.old), self.files(change.new)
        for ids, number in ((before - after, -1), (after - before, 1)):
            for item_id in ids:
                yield CountChange(item_id, self.counted_in, number)


class NewFiles:
    """Follows the media items: a text may have named the address of a new one before."""

    settle = staticmethod(count_uses)

    @staticmethod
    def note(change: Change) -> Iterator[CountChange]:
        if change.old is None:
            yield CountChange(change.record["id"])


def uses_of(collection: Collection) -> Uses | None:
    """None if its records use no files."""
    return next((each for each in collection.followers if isinstance(each, Uses)), None)
