"""For operators: the sites of the service, of which they choose one to work in."""

from __future__ import annotations

from dataclasses import dataclass

from masthead.admin.endpoint import Answer, Moved, Shown
from masthead.admin.flash import admin_cookie
from masthead.admin.lists import cursor_of
from masthead.admin.request import SITE_COOKIE, AdminRequest
from masthead.caller import in_tenant
from masthead.errors import NotFound
from masthead.identity.tenants import tenants
from masthead.records.engine import ListRequest
from masthead.records.filter.ast import Comparison, Expression, Identifier, Literal, Or
from masthead.records.write.audit import OPENED
from masthead.site.address import site_url

ADDRESS = "/admin/tenants"
PER_PAGE = 50
_SESSION_SECONDS = 24 * 3600


@dataclass(frozen=True, slots=True)
class SiteRow:
    id: str
    name: str
    slug: str
    plan: str
    url: str
    created: str
    is_here: bool


async def tenants_page(request: AdminRequest) -> Answer:
    words = request.query.get("q", "").strip()
    after = cursor_of(request.query.get("after", ""))
    wanted = ListRequest(per_page=PER_PAGE + 1, filter=_matching(words), after=after)
    page = await request.records.page(request.everywhere, tenants, wanted)
    items = page.items[:PER_PAGE]
    older = ""
    if len(page.items) > PER_PAGE:
        older = f"{ADDRESS}?after={items[-1]['created']}~{items[-1]['id']}"
    rows = [
        SiteRow(
            each["id"],
            each["name"],
            each["slug"],
            each["plan"],
            site_url(request.services.settings, each["slug"]),
            request.when(each["created"]),
            request.site is not None and each["id"] == request.site.id,
        )
        for each in items
    ]
    values = {"rows": rows, "total": page.total, "q": words, "older": older, "first": ADDRESS}
    return Shown("operator/tenants.html", "Sites", values)


async def choose_tenant(request: AdminRequest, tenant_id: str) -> Answer:
    """On the service's own host. A site's own address is about that site alone."""
    tenant = await request.services.directory.by_id(tenant_id)
    if tenant is None:
        raise NotFound
    if request.context.tenant is not None:
        return Moved(f"{site_url(request.services.settings, tenant.slug)}/admin")
    async with request.records.unit(in_tenant(request.caller, tenant.id)) as unit:
        await unit.note(OPENED)
    cookie = admin_cookie(
        SITE_COOKIE, tenant.id, seconds=_SESSION_SECONDS, secure=request.context.is_https
    )
    return Moved("/admin", f"You are in {tenant.name} now.", (cookie,))


def _matching(words: str) -> Expression | str:
    if not words:
        return ""
    return Or(
        tuple(Comparison(Identifier((name,)), "~", Literal(words)) for name in ("name", "slug"))
    )
