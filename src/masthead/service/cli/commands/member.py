"""`masthead member`: creates, lists and deletes members."""

from __future__ import annotations

from typing import Any

import click

from masthead.base.caller import shell, system
from masthead.base.email_address import normal_email
from masthead.engine.records.collection import Record
from masthead.engine.records.filter.ast import Comparison, Identifier, Literal, Or
from masthead.engine.records.read.page import ListRequest
from masthead.features.members.collection import blog_members
from masthead.service.cli.arguments import confirm, tenant_option, yes_option
from masthead.service.cli.invocation import Invocation, Output, command, new_group
from masthead.service.cli.opened_installation import opened_site
from masthead.service.cli.secret_values import new_password, password_option

app = new_group("Creates, lists and deletes members.")


TIERS = ("free", "paid")
MAX_LISTED = 10_000
PAGE = 500
COLUMNS = ("id", "email", "name", "tier", "status", "newsletter", "created")


@command("create", app)
@tenant_option
@click.option("--email", metavar="E", required=True)
@password_option("--password")
@click.option("--name", metavar="N", default="")
@click.option("--tier", type=click.Choice(TIERS), default="free", show_default=True)
@click.option("--newsletter/--no-newsletter")
async def create(
    invocation: Invocation,
    tenant: str,
    email: str,
    password: str | None,
    *,
    name: str,
    tier: str,
    newsletter: bool,
) -> Output:
    """Creates a member. Without a password the member can't sign in until one is set."""
    # Imported here: the other commands hash no password.
    from masthead.identity.given_passwords import new_credentials

    password = new_password(password, "--password", required=False)
    async with opened_site(invocation, tenant) as site:
        credentials = await new_credentials({"password": password}, required=False, email=email)
        member = await site.parts.records.create(
            system(site.id),
            blog_members,
            {"email": email, "name": name, "tier": tier, "newsletter": newsletter},
            stamped=credentials,
        )
    return Output({"id": member["id"]}, f"{member['email']} is a member (id {member['id']}).")


@command("list", app)
@tenant_option
@click.option("--search", metavar="TEXT", default="", help="In the email address or the name.")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(1, MAX_LISTED),
    default=100,
    show_default=True,
)
async def list_members(invocation: Invocation, tenant: str, search: str, limit: int) -> Output:
    """Lists a tenant's members, newest first."""
    matching = Or(
        tuple(Comparison(Identifier((name,)), "~", Literal(search)) for name in ("email", "name"))
    )
    found: list[Record] = []
    wanted = ListRequest(
        per_page=min(limit, PAGE), filter=matching if search else "", skip_total=True
    )
    async with opened_site(invocation, tenant) as site:
        async for page in site.parts.records.pages(system(site.id), blog_members, wanted):
            found += page
            if len(found) >= limit:
                break
    none = "No member matches." if search else f"{tenant} has no members yet."
    return Output([_shown(each) for each in found[:limit]], none, COLUMNS)


@command("delete", app)
@tenant_option
@click.option("--email", metavar="E", required=True)
@yes_option
async def delete(invocation: Invocation, tenant: str, email: str, yes: bool) -> Output:
    """Deletes a member's account at once; all its sessions end."""
    async with opened_site(invocation, tenant) as site:
        records = site.parts.records
        wanted = {"email": normal_email(email)}
        missing = f"{tenant} has no member {email!r}"
        found = await records.require(blog_members, wanted, tenant_id=site.id, missing=missing)
        confirm(f"Delete the member {found['email']} of {tenant}?", yes=yes)
        await records.delete(shell(site.id), blog_members, found["id"])
    return Output(_shown(found), f"{found['email']} is no longer a member.")


def _shown(member: Record) -> dict[str, Any]:
    return {name: member[name] for name in COLUMNS}
