"""`masthead tenant`: creates, lists, suspends and deletes tenants, and changes their plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from masthead.base.caller import system
from masthead.base.errors import Invalid
from masthead.engine.records.collection import Record
from masthead.engine.records.filter.ast import Comparison, Identifier, Literal
from masthead.engine.records.read.page import ListRequest
from masthead.features.site.collection import site_settings
from masthead.identity.limits.plans import Plan
from masthead.identity.tenants import tenants
from masthead.service.cli.arguments import confirm, warn, yes_option
from masthead.service.cli.invocation import Invocation, Output, command, new_group
from masthead.service.cli.opened_installation import OpenedSite, opened, opened_site
from masthead.service.cli.secret_values import new_password, password_option
from masthead.service.installation import Installation

app = new_group("Creates, lists, suspends and deletes tenants, and changes their plan.")

F = TypeVar("F", bound=Callable[..., Any])
LIMITS = ("per_minute", "per_hour", "per_day")
_OPTIONS = {"email": "--owner-email", "password": "--owner-password", "site_name": "--name"}

DELETING = "deleting"
"""The third state, besides those of `TenantStatus`."""
IS_DELETING = Comparison(Identifier(("deleted_at",)), "!=", Literal(""))
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
    *,
    owner_email: str,
    owner_password: str | None,
    custom_domain: str,
) -> Output:
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
    return Output(data, f"Tenant {made.slug} is ready (id {made.tenant_id}).")


@command("list", app)
async def list_tenants(invocation: Invocation) -> Output:
    """Lists the tenants."""
    async with opened(invocation) as parts:
        pages = parts.records.pages(system(), tenants, ListRequest(per_page=500, skip_total=True))
        found = [_shown(each) async for page in pages for each in page]
        deleting = await _find_deleting(parts)
    found.sort(key=lambda each: str(each["slug"]))
    for each in found:
        each["state"] = DELETING if each["id"] in deleting else each["state"]
    columns = ("slug", "name", "plan", "state", "id", "created")
    return Output(found, "There are no tenants yet.", columns)


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
    *,
    per_hour: int | None,
    per_day: int | None,
    mails_per_month: int | None,
) -> Output:
    """Changes a tenant's plan and its own limits. A limit that is not given is removed."""
    limits = dict(zip(LIMITS, (per_minute, per_hour, per_day), strict=True))
    if plan != Plan.ENTERPRISE and any(limit is not None for limit in limits.values()):
        raise click.BadParameter("only the enterprise plan can have its own rate limits")
    async with opened_site(invocation, slug) as site:
        await site.parts.records.update(
            system(site.id),
            tenants,
            site.id,
            {"plan": plan, **limits, "mails_per_month": mails_per_month},
        )
        shown = await _read(site)
    if not Plan(plan).has_api:
        warn(_stops(Plan(plan)))
    return Output(shown, f"Tenant {slug} is on plan {plan}.")


def _stops(plan: Plan) -> str:
    return (
        f"On {plan}, API keys get a 403 (PLAN_UPGRADE_REQUIRED) and webhooks get no events. "
        "Nothing is deleted: both work again on a paid plan."
    )


@command("suspend", app)
@click.argument("slug", metavar="SLUG")
@click.option(
    "--reason",
    metavar="TEXT",
    default="The operator has suspended this site.",
    show_default=True,
    help="The owner gets it by email; the staff sees it in the admin.",
)
@yes_option
async def suspend(invocation: Invocation, slug: str, reason: str, yes: bool) -> Output:
    """Closes a site for its readers, its staff and its API keys. Nothing is deleted."""
    from masthead.service.cli import site_states

    async with opened_site(invocation, slug) as site:
        confirm(f"Suspend {site.tenant['name']}, so that nobody can read it?", yes=yes)
        await site_states.suspend(site.parts, site.id, reason)
        shown = await _read(site)
    return Output(shown, f"{site.tenant['name']} is suspended.")


@command("resume", app)
@click.argument("slug", metavar="SLUG")
@click.option("--yes", is_flag=True, expose_value=False, help="Has no effect: it never asks.")
async def resume(invocation: Invocation, slug: str) -> Output:
    """Opens a suspended site again, and cancels its deletion."""
    from masthead.service.cli import site_states

    async with opened_site(invocation, slug) as site:
        is_cancelled = await site_states.resume(site.parts, site.id)
        shown = await _read(site)
    kept = " Nothing of it is deleted." if is_cancelled else ""
    return Output(shown, f"{site.tenant['name']} is open.{kept}")


@command("delete", app)
@click.argument("slug", metavar="SLUG")
@yes_option
async def delete(invocation: Invocation, slug: str, yes: bool) -> Output:
    """Closes a site at once, and erases it after 30 days. `tenant resume` cancels that."""
    from masthead.service.cli import site_states

    async with opened_site(invocation, slug) as site:
        confirm(f"Close {site.tenant['name']} now, and erase it after 30 days?", yes=yes)
        planned = await site_states.delete(site.parts, site.id)
        shown = await _read(site)
    when = planned["grace_until"]
    text = (
        f"{site.tenant['name']} is closed. It will be erased on {when[:10]}, with everything in it."
    )
    return Output({**shown, "erased_after": when}, text)


@command("allow-code", app)
@click.argument("slug", metavar="SLUG")
@click.option("--off", is_flag=True, help="Allows it no longer; what was set is kept, not shown.")
async def allow_code(invocation: Invocation, slug: str, off: bool) -> Output:
    """Allows the owners of a site to put their own HTML and scripts on its pages."""
    async with opened_site(invocation, slug) as site:
        records = site.parts.records
        settings = await records.require(site_settings, {}, tenant_id=site.id)
        await records.update(
            system(site.id), site_settings, settings["id"], {"code_allowed": not off}
        )
        shown = {**await _read(site), "code_allowed": not off}
    rule = "may not have code of its owners" if off else "may have code of its owners"
    return Output(shown, f"{site.tenant['name']} {rule} on its pages.")


@command("stats-clear", app)
@click.argument("slug", metavar="SLUG")
@yes_option
async def clear_stats(invocation: Invocation, slug: str, yes: bool) -> Output:
    """Deletes the counts of a site's views. Who joined and paid stays counted."""
    from masthead.features.statistics.retention import Retention

    async with opened_site(invocation, slug) as site:
        confirm(f"Delete all counts of views of {site.tenant['name']}?", yes=yes)
        await Retention(site.parts.database, site.parts.records.clock).clear(site.id)
        shown = await _read(site)
    return Output(shown, f"{site.tenant['name']} has no counts of views now.")


async def _find_deleting(parts: Installation) -> set[str]:
    """The ids of the tenants that wait for their deletion."""
    wanted = ListRequest(per_page=500, filter=IS_DELETING, skip_total=True)
    pages = parts.records.pages(system(), site_settings, wanted)
    return {each["tenant_id"] async for page in pages for each in page}


async def _read(site: OpenedSite) -> dict[str, Any]:
    """As it is after a change."""
    records = site.parts.records
    [tenant] = await records.find(tenants, {"id": site.id}, tenant_id=site.id)
    shown = _shown(tenant)
    settings = await records.find(site_settings, {}, tenant_id=site.id)
    if any(each["deleted_at"] for each in settings):
        shown["state"] = DELETING
    return shown


def _shown(tenant: Record) -> dict[str, Any]:
    names = ("id", "slug", "name", "plan", "owner_id", *LIMITS, "mails_per_month", "created")
    return {**{name: tenant[name] for name in names}, "state": tenant["status"]}


def _with_option_names(error: Invalid) -> Invalid:
    return Invalid({_OPTIONS.get(name, f"--{name}"): each for name, each in error.problems.items()})
