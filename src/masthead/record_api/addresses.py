"""Whole addresses in answers, where a collection stores paths of the site's own."""

from __future__ import annotations

from collections.abc import Iterable

from masthead.caller import Caller
from masthead.ids import TenantId
from masthead.record_api.call import Call, RecordStoreServices
from masthead.records.collection import Collection, Record
from masthead.site.address import site_url


async def complete_addresses(
    call: Call, caller: Caller, collection: Collection, records: Iterable[Record]
) -> None:
    """A caller without a tenant gets each with its own host. No relation leads to a collection
    that has such addresses, so none is in an expansion."""
    if not collection.site_addresses:
        return
    for record in records:
        for name in collection.site_addresses:
            if record.get(name):
                tenant_id = TenantId(caller.tenant_id or record["tenant_id"])
                record[name] = await origin_of(call.services, tenant_id) + record[name]


def with_tenant(
    caller: Caller, collection: Collection, names: frozenset[str] | None
) -> frozenset[str] | None:
    """The fields to read, with the one that says whose host it is."""
    if names is None or caller.tenant_id is not None or not names & {*collection.site_addresses}:
        return names
    return names | {"tenant_id"}


async def origin_of(services: RecordStoreServices, tenant_id: TenantId) -> str:
    tenant = await services.directory.by_id(tenant_id)
    # Never on the site's custom domain, which may be given up later.
    return site_url(services.settings, tenant.slug) if tenant else ""
