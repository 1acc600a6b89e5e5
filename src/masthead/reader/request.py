"""One request to the reader's site: whose site, for whom, and what it asks for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import parse_qs
from zoneinfo import ZoneInfo

from starlette.types import Scope

from masthead import clock
from masthead.caller import Audience, Caller, Kind, site
from masthead.config.settings import Settings
from masthead.errors import BadRequest
from masthead.identity.directory import Tenant
from masthead.identity.tenants import tenants
from masthead.ids import TenantId
from masthead.limits.read_limits import ReadLimit
from masthead.members.collection import blog_members
from masthead.reader.themes import Themes
from masthead.records.collection import Record
from masthead.records.engine import Records
from masthead.site.collection import site_settings
from masthead.web.request_context import request_context

Identify = Callable[[Scope], Awaitable[Caller]]

MAX_QUERY_BYTES = 2_000


@dataclass(frozen=True, slots=True)
class ReaderServices:
    records: Records
    themes: Themes
    settings: Settings
    identify: Identify
    """The caller of a request, by session cookie or token."""
    read_limit: ReadLimit


@dataclass
class SiteRequest:
    services: ReaderServices
    tenant: Tenant
    caller: Caller
    """The reader's site itself, for the reader's audience: see `SiteRules`."""
    address: str
    """The client's."""
    path: str
    query_string: bytes
    query: dict[str, str]
    site_record: Record
    tenant_record: Record

    @property
    def records(self) -> Records:
        return self.services.records

    @property
    def tenant_id(self) -> TenantId:
        return self.tenant.id

    @property
    def audience(self) -> Audience:
        return self.caller.audience

    @cached_property
    def time_zone(self) -> ZoneInfo:
        return ZoneInfo(self.site_record["time_zone"] or "UTC")

    @property
    def now(self) -> str:
        return clock.to_text(self.records.clock())


async def open_request(
    services: ReaderServices, tenant: Tenant, audience: Audience, scope: Scope
) -> SiteRequest:
    found = await services.records.find(tenants, {"id": tenant.id}, tenant_id=tenant.id)
    stored = await services.records.find(site_settings, {}, tenant_id=tenant.id)
    caller = site(tenant.id, audience)
    empty = {each.name: each.default_value() for each in site_settings.fields}
    return SiteRequest(
        services,
        tenant,
        caller,
        request_context(scope).address,
        scope["path"],
        scope["query_string"],
        _query(scope["query_string"]),
        stored[0] if stored else empty,
        found[0],
    )


async def audience_of(services: ReaderServices, scope: Scope, tenant_id: TenantId) -> Audience:
    """What a paid member may read ends with the payment: the tier is read for every request."""
    caller = await services.identify(scope)
    if caller.kind is Kind.GUEST or caller.tenant_id != tenant_id:
        return Audience.GUEST
    if caller.kind is not Kind.MEMBER:
        return Audience.STAFF
    found = await services.records.find(blog_members, {"id": caller.id}, tenant_id=tenant_id)
    return audience_of_member(found[0]) if found else Audience.GUEST


def audience_of_member(member: Record) -> Audience:
    is_paid = member["tier"] == "paid" and member["status"] != "cancelled"
    return Audience.PAID if is_paid else Audience.FREE


def _query(raw: bytes) -> dict[str, str]:
    """The last value of each name."""
    if len(raw) > MAX_QUERY_BYTES:
        raise BadRequest(f"The address has over {MAX_QUERY_BYTES:,} bytes after its question mark.")
    found = parse_qs(raw.decode("latin-1"), errors="replace", max_num_fields=50)
    return {name: values[-1] for name, values in found.items()}
