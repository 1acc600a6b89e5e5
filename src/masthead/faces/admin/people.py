"""The names of a site's staff, as the admin shows them."""

from __future__ import annotations

from collections.abc import Sequence

from masthead.base.caller import service_of
from masthead.base.ids import TenantId
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.engine.records.filter.conditions import equals
from masthead.engine.records.read.page import ListRequest
from masthead.faces.admin.request import AdminRequest
from masthead.identity.tenants import Role, superusers

MAX_STAFF = 200
MAX_OWNERS = 5
"""The most owners who are named as the people to ask."""
_SHOWN = frozenset({"name", "email", "role"})
_ARTICLES = {
    Role.OWNER: words("an owner"),
    Role.EDITOR: words("an editor"),
    Role.AUTHOR: words("an author"),
    Role.CONTRIBUTOR: words("a contributor"),
}


async def staff_names(request: AdminRequest) -> dict[str, str]:
    """The names by id. An account without a name is shown by address and role."""
    page = await _staff(request, ListRequest(per_page=MAX_STAFF, names=_SHOWN, skip_total=True))
    return {each["id"]: each["name"] or _unnamed(request, each) for each in page}


async def owners_of(request: AdminRequest) -> list[str]:
    """Some owners, with what the caller needs to write to them."""
    wanted = ListRequest(
        per_page=MAX_OWNERS,
        filter=equals("role", Role.OWNER),
        sort="created",
        names=_SHOWN,
        skip_total=True,
    )
    found = await _staff(request, wanted)
    if not _sees_addresses(request):
        return [each["name"] for each in found if each["name"]]
    return [", ".join(filter(None, (each["name"], each["email"]))) for each in found]


async def names_of(request: AdminRequest, account_ids: Sequence[str]) -> list[str]:
    """The names of staff and operators. Empty for an account that is gone, and for a program, whose
    id is empty."""
    known = await staff_names(request)
    return [known.get(each) or await _operator(request, each) for each in account_ids]


async def _operator(request: AdminRequest, account_id: str) -> str:
    wanted = {"id": account_id}
    found = await request.records.find(superusers, wanted, tenant_id=TenantId(""), limit=1)
    return words("an operator") if found else ""


async def _staff(request: AdminRequest, wanted: ListRequest) -> list[Record]:
    # Editors and authors may not read the accounts, but know whom they work with.
    page = await request.records.page(service_of(request.tenant_id), superusers, wanted)
    return page.items


def _unnamed(request: AdminRequest, account: Record) -> str:
    if not _sees_addresses(request):
        return _ARTICLES[account["role"]]
    return f"{account['email']} ({account['role']})"


def _sees_addresses(request: AdminRequest) -> bool:
    """Authors and contributors may be guests of the site: they learn no address."""
    return not request.caller.is_writer
