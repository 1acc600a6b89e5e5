"""Finds a tenant by slug or id, for the command line."""

from __future__ import annotations

from masthead.base.errors import MastheadError, NotFound
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.identity.tenants import tenants


class AmbiguousTenant(MastheadError):
    """A slug of one tenant is the id of another."""


async def find_tenant_named(records: Records, named: str) -> Record:
    by_slug = await records.find(tenants, {"slug": named})
    by_id = await records.find(tenants, {"id": named})
    found = {each["id"]: each for each in (*by_slug, *by_id)}
    if not found:
        raise NotFound(f"There is no tenant {named!r}. `masthead tenant list` shows them.")
    if len(found) > 1:
        raise AmbiguousTenant(
            f"{named!r} is the slug of one tenant and the id of another. "
            "For the first, give its id; for the second, its slug."
        )
    return next(iter(found.values()))
