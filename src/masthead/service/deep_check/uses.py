"""Compares the counts of an uploaded file's uses with the lists of the records that use it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Final

from masthead.engine.links.file_readers import EVERYONE
from masthead.engine.links.file_uses import MEDIA, OPEN_USES, USES, CountChange, count_uses, uses_of
from masthead.engine.records.derived.list_items import listed_totals
from masthead.service.deep_check.faults import Batch, Cursor, Fault, Look, Site, decoded, id_of
from masthead.service.schema import registry

_COUNTED_IN: Final = {
    each.name: uses.counted_in for each in registry.collections if (uses := uses_of(each))
}


async def check_uses(look: Look, site: Site, after: Cursor) -> AsyncIterator[Batch]:
    media = registry[MEDIA]
    statement = look.statement("uses", listed_totals)
    while True:
        async with look.snapshot() as snapshot:
            rows = await look.page(snapshot, media, site, after)
            if not rows:
                return
            items = [each for row in rows if (each := decoded(media, row))]
            counts = {
                each["id"]: dict.fromkeys((*_COUNTED_IN.values(), OPEN_USES), 0) for each in items
            }
            for listing in (USES, EVERYONE):
                values = {
                    "tenant": site.id,
                    "collections": look.list_value(list(_COUNTED_IN)),
                    "listing": listing,
                    "keys": look.list_value(list(counts)),
                }
                for item_id, name, total in await snapshot.fetch(statement(values)):
                    field = OPEN_USES if listing == EVERYONE else _COUNTED_IN[name]
                    counts[item_id][field] += total
        faults = []
        for item in items:
            wrong = [
                f"{name} is {item[name] or 0} instead of {number}"
                for name, number in counts[item["id"]].items()
                if (item[name] or 0) != number
            ]
            if wrong:
                again = partial(_count_again, look, site, item["id"])
                faults.append(Fault("counters", MEDIA, item["id"], ", ".join(wrong), again))
        after = (id_of(media, rows[-1]),)
        yield Batch(after, len(rows), faults)


async def _count_again(look: Look, site: Site, item_id: str) -> None:
    async with look.unit(site) as unit:
        await count_uses(unit, [CountChange(item_id)])
