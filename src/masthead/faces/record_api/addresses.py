"""Whole addresses in answers, where a collection stores paths of the site's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw

from masthead.base.caller import Caller, Kind
from masthead.base.ids import TenantId
from masthead.engine.links.file_uses import named_files, uses_of
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.fields.documents import Json
from masthead.features.media.hidden_files import (
    document_without_files,
    private_files,
    without_files,
)
from masthead.features.site.address import site_url
from masthead.web.services import WebServices


async def complete_addresses(
    services: WebServices,
    caller: Caller,
    collection: Collection,
    records: Sequence[Record],
) -> None:
    """A caller without a tenant gets each with the address of its site. No relation leads to a
    collection that has such addresses, and none that guests can follow to one that names files, so
    nothing of this is in an expansion."""
    if caller.kind is Kind.GUEST and (uses := uses_of(collection)):
        documents = [each.name for each in collection.fields if isinstance(each, Json)]
        await _leave_out_private(services, caller, records, (*uses.fields, *documents))
    if not collection.site_addresses:
        return
    for record in records:
        for name in collection.site_addresses:
            if record.get(name):
                tenant_id = TenantId(caller.tenant_id or record["tenant_id"])
                record[name] = await origin_of(services, tenant_id) + record[name]


async def _leave_out_private(
    services: WebServices,
    caller: Caller,
    records: Sequence[Record],
    names: Sequence[str],
) -> None:
    """A guest is not given the addresses of files that don't open."""
    texts = [_text_of(record[name]) for record in records for name in names if record.get(name)]
    hidden = await private_files(services.records, caller.tenant_id, texts)
    if not hidden:
        return
    for record in records:
        for name in names:
            if record.get(name) and not named_files([_text_of(record[name])]).isdisjoint(hidden):
                record[name] = _without(record[name], hidden)


def _text_of(value: Any) -> str:
    """The text itself, or the JSON of a document as it is read to be sent."""
    if isinstance(value, str):
        return value
    return (bytes(value) if isinstance(value, Raw) else msgspec.json.encode(value)).decode()


def _without(value: Any, hidden: frozenset[str]) -> Any:
    if not isinstance(value, str):
        try:
            document = msgspec.json.decode(value) if isinstance(value, Raw) else value
            return document_without_files(document, hidden)
        except RecursionError:
            # Nested too deeply: no editor writes that.
            return None
    # An address by itself, or a text with some.
    return without_files(value, hidden) if "<" in value else ""


def with_tenant(
    caller: Caller, collection: Collection, names: frozenset[str] | None
) -> frozenset[str] | None:
    """The fields to read, with the one that says whose host it is."""
    if names is None or caller.tenant_id is not None or not names & {*collection.site_addresses}:
        return names
    return names | {"tenant_id"}


async def origin_of(services: WebServices, tenant_id: TenantId) -> str:
    tenant = await services.directory.by_id(tenant_id)
    return site_url(services.settings, tenant.slug, tenant.custom_domain) if tenant else ""
