"""`masthead tenant`: creates tenants, lists them and changes their plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from masthead.caller import system
from masthead.cli.invocation import Invocation, Shown, command, new_group
from masthead.cli.opened_installation import opened
from masthead.cli.secret_values import new_password, password_option
from masthead.errors import Invalid
from masthead.identity.plans import Plan
from masthead.identity.tenant_lookup import tenant_named
from masthead.identity.tenants import tenants
from masthead.ids import TenantId
from masthead.records.collection import Record
from masthead.records.read.page import ListRequest

app = new_group("Creates and lists tenants, and changes their plan.")

F = TypeVar("F", bound=Callable[..., Any])
LIMITS = ("per_minute", "per_hour", "per_day")
_OPTIONS = {"email": "--owner-email", "password": "--owner-password", "site_name": "--name"}

PLAN = click.Choice([each.value for each in Plan])


def limit_option(name: str) -> Callable[[F], F]:
    return click.option(
        name, metavar="N", type=click.IntRange(0), help="For the API; enterprise only."
    )


@command("create", app)
@click.option("--slug", metavar="S", required=True, help="The site is SLUG.<base domain>.")
@click.option("--name", metavar="N", required=True)
@click.option("--plan", type=PLAN, required=True)
@click.option("--owner-email", metavar="E", required=True)
@password_option("--owner-password")
@click.option("--custom-domain", metavar="D", default="")
async def create(
    invocation: Invocation,
    slug: str,
    name: str,
    plan: str,
    owner_email: str,
    owner_password: str | None,
    custom_domain: str,
) -> Shown:
    """Creates a tenant, its site settings and its owner."""
    # Imported here: the other commands hash no password.
    from masthead.identity.setup import NewTenant, create_tenant

    password = new_password(owner_password, "--owner-password")
    async with opened(invocation, creates=True) as parts:
        new = NewTenant(
            slug=slug,
            name=name,
            plan=Plan(plan),
            owner_email=owner_email,
            owner_password=password,
            custom_domain=custom_domain,
        )
        try:
            made = await create_tenant(parts.records, new)
        except Invalid as error:
            raise _with_option_names(error) from error
    data = {"tenant_id": made.tenant_id, "slug": made.slug, "owner_id": made.owner_id}
    return Shown(data, f"Tenant {made.slug} is ready (id {made.tenant_id}).")


@command("list", app)
async def list_tenants(invocation: Invocation) -> Shown:
    """Lists the tenants."""
    found: list[dict[str, Any]] = []
    async with opened(invocation) as parts:
        page = 1
        while True:
            wanted = ListRequest(page, 500, sort="slug", skip_total=True)
            items = (await parts.records.page(system(), tenants, wanted)).items
            found += map(_shown, items)
            if len(items) < wanted.per_page:
                break
            page += 1
    columns = ("slug", "name", "plan", "id", "created")
    return Shown(found, "There are no tenants yet.", columns)


@command("set-plan", app)
@click.argument("slug", metavar="SLUG")
@click.argument("plan", metavar="PLAN", type=PLAN)
@limit_option("--per-minute")
@limit_option("--per-hour")
@limit_option("--per-day")
@click.option(
    "--mails-per-month",
    metavar="N",
    type=click.IntRange(0),
    help="Recipients of newsletters; for any plan.",
)
async def set_plan(
    invocation: Invocation,
    slug: str,
    plan: str,
    per_minute: int | None,
    per_hour: int | None,
    per_day: int | None,
    mails_per_month: int | None,
) -> Shown:
    """Changes a tenant's plan and its own limits. A limit that is not given is removed."""
    limits = dict(zip(LIMITS, (per_minute, per_hour, per_day), strict=True))
    if plan != Plan.ENTERPRISE and any(limit is not None for limit in limits.values()):
        raise click.BadParameter("own rate limits are for the enterprise plan only")
    async with opened(invocation) as parts:
        tenant = await tenant_named(parts.records, slug)
        caller = system(TenantId(tenant["id"]))
        changed = await parts.records.update(
            caller,
            tenants,
            tenant["id"],
            {"plan": plan, **limits, "mails_per_month": mails_per_month},
        )
    return Shown(_shown(changed), f"Tenant {slug} is on plan {plan}.")


def _shown(tenant: Record) -> dict[str, Any]:
    names = ("id", "slug", "name", "plan", "owner_id", *LIMITS, "mails_per_month", "created")
    return {name: tenant[name] for name in names}


def _with_option_names(error: Invalid) -> Invalid:
    return Invalid({_OPTIONS.get(name, f"--{name}"): each for name, each in error.problems.items()})
