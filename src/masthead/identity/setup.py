"""Creates tenants with their owner and settings, and platform operators."""

from __future__ import annotations

import msgspec

from masthead.base.caller import Caller, in_tenant, system
from masthead.base.email_address import normal_email
from masthead.base.errors import Invalid, MastheadError
from masthead.base.ids import TenantId, new_id
from masthead.engine.records.engine import Records
from masthead.identity.given_passwords import new_credentials
from masthead.identity.hosts import check_slug
from masthead.identity.limits.plans import Plan
from masthead.identity.tenants import superusers, tenants


class NewTenant(msgspec.Struct, frozen=True, kw_only=True):
    slug: str
    name: str
    plan: Plan
    owner_email: str
    owner_password: str
    """Empty: the owner is invited to choose one."""
    custom_domain: str = ""


class CreatedTenant(msgspec.Struct, frozen=True):
    tenant_id: TenantId
    slug: str
    owner_id: str


class OperatorExists(MastheadError):
    message = "An operator with this email address already exists."


async def create_tenant(
    records: Records, new: NewTenant, caller: Caller | None = None
) -> CreatedTenant:
    """Creates the tenant, its owner and its settings in one transaction. `caller` is the operator
    who does it; None is the command line."""
    problem = check_slug(new.slug)
    if problem:
        raise Invalid({"slug": problem})
    given = {"password": new.owner_password} if new.owner_password else {}
    credentials = await new_credentials(given, required=caller is None, email=new.owner_email)
    tenant_id = TenantId(new_id())
    async with records.unit(in_tenant(caller or system(), tenant_id)) as unit:
        owner = await unit.create(superusers, {"email": new.owner_email}, stamped=credentials)
        await unit.create(
            tenants,
            {
                "id": tenant_id,
                "slug": new.slug,
                "name": new.name,
                "plan": new.plan,
                "owner_id": owner["id"],
            },
        )
        await unit.create(
            records.registry["site_settings"],
            {"slug": new.slug, "site_name": new.name, "custom_domain": new.custom_domain},
        )
    return CreatedTenant(tenant_id, new.slug, owner["id"])


async def create_operator(records: Records, email: str, password: str) -> str:
    """A platform operator: an administrator without a tenant."""
    credentials = await new_credentials({"password": password}, required=True, email=email)
    async with records.unit(system()) as unit:
        if await unit.find(superusers, {"email": normal_email(email)}, limit=1):
            raise OperatorExists
        operator = await unit.create(superusers, {"email": email}, stamped=credentials)
    return str(operator["id"])
