"""Setting up who there is: tenants with their owner and settings, and platform operators."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from masthead.caller import system
from masthead.email_address import normal_email
from masthead.errors import Invalid, MastheadError, Problem
from masthead.identity.accounts import new_credentials
from masthead.identity.hosts import BadHost, check_slug, parse_host
from masthead.identity.plans import Plan
from masthead.identity.tenants import superusers, tenants
from masthead.ids import TenantId, new_id
from masthead.records.collection import Collection
from masthead.records.engine import Records


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTenant:
    slug: str
    name: str
    plan: Plan
    owner_email: str
    owner_password: str
    custom_domain: str = ""


@dataclass(frozen=True, slots=True)
class CreatedTenant:
    tenant_id: TenantId
    slug: str
    owner_id: str


class OperatorExists(MastheadError):
    message = "There is an operator with this e-mail address already."


async def create_tenant(
    records: Records, site_settings: Collection, new: NewTenant
) -> CreatedTenant:
    """The tenant, its owner and its settings: all three or none. Refusals name the argument."""
    problem = check_slug(new.slug)
    if problem:
        raise Invalid({"slug": problem})
    credentials = await new_credentials({"password": new.owner_password}, required=True)
    tenant_id = TenantId(new_id())
    async with records.unit(system(tenant_id)) as unit:
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
            site_settings,
            {"slug": new.slug, "site_name": new.name, "custom_domain": new.custom_domain},
        )
    return CreatedTenant(tenant_id, new.slug, owner["id"])


async def create_operator(records: Records, email: str, password: str) -> str:
    """A platform operator: an administrator without a tenant."""
    credentials = await new_credentials({"password": password}, required=True)
    async with records.unit(system()) as unit:
        if await unit.find(superusers, {"email": normal_email(email)}, limit=1):
            raise OperatorExists
        operator = await unit.create(superusers, {"email": email}, stamped=credentials)
    return str(operator["id"])


def check_custom_domain(text: str, base_domain: str) -> str:
    """The domain as it is stored; empty stays empty. Raises `Invalid` on `custom_domain`."""
    if not text.strip():
        return ""
    try:
        host = parse_host(text.strip())
    except BadHost:
        raise _bad_domain("Must be a domain name such as blog.example.com.") from None
    if host.port is not None or "." not in host.name or _is_address(host.name):
        raise _bad_domain("Must be a domain name such as blog.example.com.")
    if host.name == base_domain or host.name.endswith(f".{base_domain}"):
        # Such a host is read as a tenant's slug and would never reach this tenant.
        raise _bad_domain(f"Names under {base_domain} belong to the platform.")
    return host.name


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _bad_domain(message: str) -> Invalid:
    return Invalid({"custom_domain": Problem("validation_invalid_format", message)})
