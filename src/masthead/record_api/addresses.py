"""Whole addresses in answers, where a collection stores paths of the site's own."""

from __future__ import annotations

from collections.abc import Sequence

from masthead.caller import Caller, Kind
from masthead.ids import TenantId
from masthead.links.file_uses import named_files, uses_of
from masthead.media.hidden_files import private_files, without_files
from masthead.record_api.call import Call, RecordStoreServices
from masthead.records.collection import Collection, Record
from masthead.site.address import site_url


async def complete_addresses(
    call: Call, caller: Caller, collection: Collection, records: Sequence[Record]
) -> None:
    """A caller without a tenant gets each with its own host. No relation leads to a collection
    that has such addresses, so none is in an expansion."""
    if caller.kind is Kind.GUEST and (uses := uses_of(collection)):
        await _leave_out_private(call, caller, records, uses.fields)
    if not collection.site_addresses:
        return
    for record in records:
        for name in collection.site_addresses:
            if record.get(name):
                tenant_id = TenantId(caller.tenant_id or record["tenant_id"])
                record[name] = await origin_of(call.services, tenant_id) + record[name]


async def _leave_out_private(
    call: Call, caller: Caller, records: Sequence[Record], names: Sequence[str]
) -> None:
    """A guest is not given the addresses of files that don't open."""
    texts = [each[name] for each in records for name in names if isinstance(each.get(name), str)]
    hidden = await private_files(call.records, caller.tenant_id, texts)
    if not hidden:
        return
    for record in records:
        for name in names:
            text = record.get(name)
            if isinstance(text, str) and named_files([text]) & hidden:
                # An address by itself, or a text with some.
                record[name] = without_files(text, hidden) if "<" in text else ""


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
