"""The names of paid levels, as readers are told them."""

from __future__ import annotations

from collections.abc import Iterable

from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.features.payments.collection import tiers

NAMELESS = words("a tier that is no longer there")


async def names_of(
    records: Records, tenant_id: TenantId, level_ids: Iterable[str]
) -> tuple[str, ...]:
    """In the order of the site. Readers are also told of a level that is no longer sold."""
    named = await names_by_id(records, tenant_id, level_ids)
    return tuple(named.values()) or (NAMELESS,)


async def names_by_id(
    records: Records, tenant_id: TenantId, level_ids: Iterable[str]
) -> dict[str, str]:
    wanted = sorted(set(level_ids))
    if not wanted:
        return {}
    found = await records.find_related(system(tenant_id), tiers, "id", wanted, limit=len(wanted))
    return {each["id"]: each["name"] for each in sorted(found, key=order_of)}


def order_of(tier: Record) -> tuple[int, str, str]:
    return tier["position"], tier["created"], tier["id"]
