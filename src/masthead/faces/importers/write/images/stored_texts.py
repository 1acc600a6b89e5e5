"""The records that posts of an export were imported as, and which pictures they show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.faces.importers.write.previous_imports import Item


async def stored_records(
    records: Records, tenant_id: TenantId, items: Iterable[Item]
) -> dict[str, Record]:
    """The records by id. One that is missing was deleted."""
    ids: dict[str, list[str]] = {}
    for item in items:
        ids.setdefault(item.collection, []).append(item.record_id)
    found: dict[str, Record] = {}
    for name, wanted in ids.items():
        for record in await records.find_related(
            system(tenant_id), records.registry[name], "id", wanted, limit=len(wanted)
        ):
            found[record["id"]] = record
    return found


def text_with_addresses(record: Record) -> str:
    """All texts of a record in which the address of a picture may stand."""
    names = ("content_html", "content_json", "description")
    bodies: list[Any] = [record[name] for name in names if name in record]
    texts = (record.get("featured_image", ""), msgspec.json.encode(bodies).decode())
    return "\n".join(texts).replace("&amp;", "&")
