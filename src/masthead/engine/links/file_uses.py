"""Which records use an uploaded file, and how many. The items of the media library hold the counts,
so that a list of unused ones reads no posts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from masthead.base.caller import Audience
from masthead.engine.links.file_readers import EVERYONE, Part, ShownParts, lists_of
from masthead.engine.records.changes import Change, Listing, Relisted
from masthead.engine.records.collection import Collection, Listings, Record, collection_id
from masthead.engine.records.write.unit import Unit

MEDIA: Final = "media"
"""The collection of uploaded files."""
OPEN_USES: Final = "open_uses"
"""The field of a media item that counts the records in the list `EVERYONE`."""
USES: Final = "uses of media"
"""The listing of the records that use a file, by the file's id."""
# On any host, and by the record store's address, where a collection has two names.
_STARTS: Final = (f"/{MEDIA}/", f"/{collection_id(MEDIA, False)}/")
_FILE_ADDRESS = re.compile(rf"(?:{'|'.join(_STARTS)})([a-z0-9]{{15}})/")


class CountChange(NamedTuple):
    """A change of one count of a media item."""

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
        counts: dict[str, int | None] = dict(counted.get(item_id, ()))
        if counts and item[OPEN_USES] is None and not any(counts.values()):
            # Nothing has used it yet.
            counts[OPEN_USES] = None
        for name, number in net.get(item_id, {}).items() if not counts else ():
            counts[name] = max((item[name] or 0) + number, 0)
        # From its first use on it is no longer open by itself.
        counts.setdefault(OPEN_USES, item[OPEN_USES] or 0)
        await unit.stamp(media, item, counts)


def _net_changes(changes: Iterable[CountChange]) -> dict[str, dict[str, int]]:
    """The sums by item and field, without those that are 0."""
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
    counts = {each: dict.fromkeys((*using.values(), OPEN_USES), 0) for each in item_ids}
    for item_id, name, total in await unit.count_listed(USES, item_ids, sorted(using)):
        counts[item_id][using[name]] += total
    for item_id, _, total in await unit.count_listed(EVERYONE, item_ids, sorted(using)):
        counts[item_id][OPEN_USES] += total
    return counts


def _everything(fields: tuple[str, ...]) -> ShownParts:
    """For records that are on the site as long as they are stored."""

    def parts(record: Record) -> Iterator[Part]:
        texts = tuple(str(record[name]) for name in fields)
        yield Part(texts, Audience.GUEST, record["created"])

    return ShownParts((), parts)


NOT_SHOWN: Final = ShownParts((), lambda _: ())
"""For records that are never on the site."""


class Uses(msgspec.Struct, frozen=True):
    """Follows a collection whose records show or link to uploaded files: those whose addresses
    stand in these fields."""

    fields: tuple[str, ...]
    counted_in: str = "uses"
    """The field of a media item that counts the records of the collection that use it."""
    shown: ShownParts | None = None
    """Which parts of a record are on the site, and for whom. None is all of it, for everyone."""
    settle = staticmethod(count_uses)

    @property
    def listings(self) -> Listings:
        shown = self.shown or _everything(self.fields)
        # What is out meanwhile has another list: see `file_readers.list_of`.
        return Listings(by=(*self.fields, *shown.by), of=self._list, late=shown.since)

    def _list(self, record: Record) -> Iterator[Listing]:
        files = self.files(record)
        if not files:
            # Its parts are of the same fields. Searching megabytes again takes milliseconds.
            return
        for each in files:
            yield Listing(USES, each, record["created"])
        shown = self.shown or _everything(self.fields)
        for part in shown.parts(record):
            lists = tuple(lists_of(part, record["updated"]))
            for each in named_files(part.texts):
                yield from (Listing(name, each, part.since) for name in lists)

    def files(self, record: Record | None) -> frozenset[str]:
        """The ids of the media items whose addresses the record holds. Some may not exist."""
        if record is None:
            return frozenset()
        return named_files([str(record[name]) for name in self.fields])

    def note(self, _: Change, relisted: Relisted) -> Iterator[CountChange]:
        counted = {USES: self.counted_in, EVERYONE: OPEN_USES}
        for listings, number in ((relisted.left, -1), (relisted.joined, 1)):
            for each in listings:
                if each.name in counted:
                    yield CountChange(each.value, counted[each.name], number)


def named_files(texts: Iterable[str]) -> frozenset[str]:
    """The ids of the media items whose addresses stand in the texts."""
    # Most texts name none, and to see that takes a tenth of the time.
    found: list[str] = []
    for text in texts:
        if _STARTS[0] in text or _STARTS[1] in text:
            found += _FILE_ADDRESS.findall(text)
    return frozenset(found)


class NewFiles:
    """Follows the media items: a text may have named the address of a new one before."""

    settle = staticmethod(count_uses)

    @staticmethod
    def note(change: Change, _: Relisted) -> Iterator[CountChange]:
        if change.old is None:
            yield CountChange(change.record["id"])


def uses_of(collection: Collection) -> Uses | None:
    """None if its records use no files."""
    return next((each for each in collection.followers if isinstance(each, Uses)), None)
