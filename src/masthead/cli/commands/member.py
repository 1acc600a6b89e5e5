"""`masthead member`: creates members."""

from __future__ import annotations

import click

from masthead.caller import system
from masthead.cli.invocation import Invocation, Shown, command, new_group
from masthead.cli.opened_installation import opened
from masthead.cli.secret_values import new_password, password_option
from masthead.cli.tenant_option import tenant_option
from masthead.identity.accounts import new_credentials
from masthead.identity.tenant_lookup import tenant_named
from masthead.ids import TenantId
from masthead.members.collection import blog_members

app = new_group("Creates members.")


TIERS = ("free", "paid")


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
    name: str,
    tier: str,
    newsletter: bool,
) -> Shown:
    """Creates a member. Without a password the member can't sign in until one is set."""
    password = new_password(password, "--password", required=False)
    async with opened(invocation) as parts:
        found = await tenant_named(parts.records, tenant)
        credentials = await new_credentials({"password": password}, required=False)
        member = await parts.records.create(
            system(TenantId(found["id"])),
            blog_members,
            {"email": email, "name": name, "tier": tier, "newsletter": newsletter},
            stamped=credentials,
        )
    return Shown({"id": member["id"]}, f"{member['email']} is a member (id {member['id']}).")
