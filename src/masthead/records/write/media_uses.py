"""How many records use each media item, as a unit's changes leave it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from masthead.records.collection import MEDIA, Record
from masthead.records.derived.uses import UseCounts
from masthead.records.read.decoding import engine_decoder
from masthead.records.write.context import WriteContext

if TYPE_CHECKING:
    from masthead.records.write.unit import Unit


async def items_used(
    unit: Unit, context: WriteContext, uses: UseCounts
) -> list[tuple[Record, dict[str, int]]]:
    """The items whose counts change, with their new counts."""
    changes, statements = uses.changes(), context.statements
    ids = sorted({*changes, *uses.new_items})
    if not ids:
        return []
    media = context.registry[MEDIA]
    values = {"tenant": unit.tenant_id, "keys": statements.list_value(ids)}
    rows = await unit.fetch(statements.find_some(media), values)
    found = [engine_decoder(media).record(row) for row in rows]
    counted = await _counted_uses(unit, context, uses.new_items)
    return [
        (item, counted[item["id"]])
        if item["id"] in counted
        else (item, {name: max(item[name] + n, 0) for name, n in changes[item["id"]].items()})
        for item in found
    ]


async def _counted_uses(
    unit: Unit, context: WriteContext, item_ids: Iterable[str]
) -> dict[str, dict[str, int]]:
    """From the lists of uses, for items whose counts say nothing yet."""
    ids = sorted(item_ids)
    if not ids:
        return {}
    using = {each.name: each.uses for each in context.registry.collections if each.uses}
    list_value = context.statements.list_value
    values = {
        "tenant": unit.tenant_id,
        "keys": list_value(ids),
        "collections": list_value(sorted(using)),
    }
    none = dict.fromkeys((each.counted_in for each in using.values()), 0)
    counts = {each: dict(none) for each in ids}
    for item_id, name, total in await unit.fetch(context.statements.use_totals, values):
        counts[item_id][using[name].counted_in] += total
    return counts
