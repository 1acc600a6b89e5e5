"""Links between people of providers and accounts: one person is one account of each kind."""

from __future__ import annotations

import msgspec

from masthead.base.ids import TenantId
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit
from masthead.features.single_sign_on.collection import (
    STAFF,
    serves,
    sign_in_links,
    sign_in_providers,
)
from masthead.features.single_sign_on.person import Person

MAX_LISTED = 100
MAX_STAFF = 1_000
"""The most accounts of one provider, among those that are listed."""


class Connection(msgspec.Struct, frozen=True):
    """A way to sign in that an account has."""

    id: str
    provider_id: str
    provider: str
    created: str


async def link_of(unit: Unit, person: Person, audience: str) -> Record | None:
    wanted = {
        "provider_id": person.provider["id"],
        "used_by": audience,
        "subject": person.subject,
    }
    return await unit.find_one(sign_in_links, wanted)


async def is_linked(unit: Unit, person: Person, audience: str, account_id: str) -> bool:
    """With anyone of the provider."""
    wanted = {"provider_id": person.provider["id"], _column(audience): account_id}
    return bool(await unit.find(sign_in_links, wanted, limit=1))


async def add_link(unit: Unit, person: Person, audience: str, account_id: str) -> None:
    stamped = {
        "provider_id": person.provider["id"],
        "used_by": audience,
        "subject": person.subject,
        _column(audience): account_id,
    }
    await unit.create(sign_in_links, {}, stamped=stamped)


async def remove_link(unit: Unit, audience: str, account_id: str, link_id: str) -> str:
    """The name of the provider. Raises NotFound for a link of another account."""
    wanted = {"id": link_id, _column(audience): account_id}
    links = await unit.require(sign_in_links, wanted)
    wanted = {"id": links["provider_id"]}
    [provider] = await unit.find(sign_in_providers, wanted, limit=1)
    await unit.delete(sign_in_links, link_id)
    return str(provider["name"])


async def connections_of(
    records: Records, tenant_id: TenantId, audience: str, account_id: str
) -> list[Connection]:
    wanted = {_column(audience): account_id}
    links = await records.find(sign_in_links, wanted, tenant_id=tenant_id, limit=MAX_LISTED)
    if not links:
        return []
    providers = await records.find(sign_in_providers, {}, tenant_id=tenant_id, limit=MAX_LISTED)
    names = {each["id"]: each["name"] for each in providers}
    # One may be removed between the two reads.
    return [
        Connection(each["id"], each["provider_id"], names[each["provider_id"]], each["created"])
        for each in links
        if each["provider_id"] in names
    ]


async def connected_staff(records: Records, tenant_id: TenantId) -> set[str]:
    """The ids of the accounts that a provider signs in."""
    providers = await records.find(sign_in_providers, {}, tenant_id=tenant_id, limit=MAX_LISTED)
    found = set()
    for provider in providers:
        if serves(provider, STAFF):
            wanted = {"provider_id": provider["id"], "used_by": STAFF}
            links = await records.find(sign_in_links, wanted, tenant_id=tenant_id, limit=MAX_STAFF)
            found |= {each["staff_id"] for each in links}
    return found


def _column(audience: str) -> str:
    return "staff_id" if audience == STAFF else "member_id"
