"""A tenant by the name that a person at a terminal knows it by."""

from __future__ import annotations

from masthead.errors import NotFound
from masthead.identity.tenants import tenants
from masthead.records.collection import Record
from masthead.records.engine import Records


async def tenant_named(records: Records, slug: str) -> Record:
    found = await records.find(tenants, {"slug": slug})
    if not found:
        raise NotFound(f"There is no tenant {slug!r}. `masthead tenant list` shows them.")
    return found[0]
