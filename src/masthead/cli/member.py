"""`masthead member`: creates members."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from masthead.caller import system
from masthead.cli.invocation import Invocation, Shown, command, new_app
from masthead.cli.opened import opened
from masthead.cli.secret_values import Password, new_password
from masthead.cli.tenant_option import Tenant
from masthead.identity.accounts import new_credentials
from masthead.identity.named import tenant_named
from masthead.ids import TenantId
from masthead.members.collection import blog_members

app = new_app("Creates members.")


class Tier(StrEnum):
    FREE = "free"
    PAID = "paid"


@command(app, "create")
async def create(
    invocation: Invocation,
    tenant: Tenant,
    email: Annotated[str, typer.Option(metavar="E")],
    password: Password = None,
    name: Annotated[str, typer.Option(metavar="N")] = "",
    tier: Annotated[Tier, typer.Option()] = Tier.FREE,
    newsletter: Annotated[bool, typer.Option()] = False,
) -> Shown:
    """Makes a member. Without a password the member can't sign in until there is one."""
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
