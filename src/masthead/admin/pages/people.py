"""The names of a site's staff, as the admin shows them."""

from __future__ import annotations

from masthead.admin.request import AdminRequest
from masthead.caller import Audience, site
from masthead.identity.tenants import superusers
from masthead.records.read.page import ListRequest

MAX_STAFF = 200


async def staff_names(request: AdminRequest) -> dict[str, str]:
    """By id. One who may not read the accounts sees the names that readers see."""
    caller = request.caller
    names = {"name", "email"}
    if not caller.is_admin:
        caller = site(request.tenant_id, Audience.STAFF)
        names = {"name"}
    wanted = ListRequest(per_page=MAX_STAFF, names=frozenset(names), skip_total=True)
    page = await request.records.page(caller, superusers, wanted)
    return {each["id"]: each["name"] or each.get("email", "") for each in page.items}
