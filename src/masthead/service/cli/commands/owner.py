"""`masthead owner`: invites owners of a tenant, and sets new passwords for them."""

from __future__ import annotations

import click

from masthead.base.caller import shell
from masthead.base.email_address import normal_email
from masthead.base.errors import BadRequest, NotFound
from masthead.engine.records.collection import Record
from masthead.identity.tenants import Role, superusers
from masthead.service.cli.arguments import tenant_option
from masthead.service.cli.invocation import Invocation, Output, command, new_group
from masthead.service.cli.opened_installation import OpenedSite, opened_site
from masthead.service.cli.secret_values import new_password, password_option

app = new_group("Invites owners of a tenant and resets their passwords.")

_email_option = click.option("--email", metavar="E", required=True)
_INVITED_BY = "The operator"


@command("invite", app)
@tenant_option
@_email_option
@click.option("--name", metavar="N", default="", help="Of a new account.")
async def invite(invocation: Invocation, tenant: str, email: str, name: str) -> Output:
    """Emails a link to choose a password, to a new owner or to one who has none yet."""
    from masthead.outside.mail.wording import being_sent
    from masthead.service.cli.account_recovery import invitations

    async with opened_site(invocation, tenant) as site:
        caller, sending = shell(site.id), invitations(site.parts)
        found = await _account(site, email)
        if found is None:
            given = {"email": email, "name": name, "role": Role.OWNER}
            account = await sending.invite(caller, site.id, given, by=_INVITED_BY)
        else:
            account = _require_owner(found, email, tenant)
            await sending.repeat(caller, site.id, account["id"], by=_INVITED_BY)
    data = {"id": account["id"], "email": account["email"]}
    return Output(data, being_sent(site.parts.settings, "An invitation", account["email"]))


@command("reset-password", app)
@tenant_option
@_email_option
@password_option("--password")
async def reset_password(
    invocation: Invocation, tenant: str, email: str, password: str | None
) -> Output:
    """Sets a new password for an owner, and ends all sessions of the account."""
    from masthead.service.cli.account_recovery import set_password

    password = new_password(password, "--password")
    async with opened_site(invocation, tenant) as site:
        account = _require_owner(await _account(site, email), email, tenant)
        await set_password(site.parts, account, password)
    data = {"id": account["id"], "email": account["email"]}
    return Output(data, f"{account['email']} has a new password; all sessions have ended.")


@command("reset-factors", app)
@tenant_option
@_email_option
async def reset_factors(invocation: Invocation, tenant: str, email: str) -> Output:
    """Removes the second factors of an owner who has lost them, and ends all sessions."""
    from masthead.service.cli import account_recovery

    async with opened_site(invocation, tenant) as site:
        account = _require_owner(await _account(site, email), email, tenant)
        await account_recovery.reset_factors(site.parts, account)
    data = {"id": account["id"], "email": account["email"]}
    return Output(data, f"{account['email']} has no second factor; all sessions have ended.")


async def _account(site: OpenedSite, email: str) -> Record | None:
    wanted = {"email": normal_email(email)}
    return await site.parts.records.find_one(superusers, wanted, tenant_id=site.id)


def _require_owner(account: Record | None, email: str, tenant: str) -> Record:
    if account is None:
        raise NotFound(f"There is no owner {email!r} in {tenant}")
    if account["role"] != Role.OWNER:
        raise BadRequest(
            f"{account['email']} has the role {account['role']} here. An owner or an operator "
            "changes it in the admin, under People"
        )
    return account
