"""`masthead operator`: creates, lists and deletes platform operators, and resets passwords."""

from __future__ import annotations

from typing import Any

import click

from masthead.base.caller import shell
from masthead.base.email_address import normal_email
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Record
from masthead.identity.tenants import superusers
from masthead.service.cli.arguments import confirm, yes_option
from masthead.service.cli.invocation import Invocation, Output, command, new_group
from masthead.service.cli.opened_installation import opened
from masthead.service.cli.secret_values import new_password, password_option
from masthead.service.installation import Installation

app = new_group("Creates, lists and deletes platform operators, and resets their passwords.")

MAX_OPERATORS = 10_000
_PLATFORM = TenantId("")
_email_option = click.option("--email", metavar="E", required=True)


@command("create", app)
@_email_option
@password_option("--password")
async def create(invocation: Invocation, email: str, password: str | None) -> Output:
    """Creates a platform operator, who has access to every tenant."""
    # Imported here: a list hashes no password.
    from masthead.identity.setup import create_operator

    password = new_password(password, "--password")
    async with opened(invocation, creates=True) as parts:
        operator_id = await create_operator(parts.records, email, password)
    return Output({"id": operator_id}, f"Operator {email} is ready (id {operator_id}).")


@command("list", app)
async def list_operators(invocation: Invocation) -> Output:
    """Lists the platform operators."""
    async with opened(invocation) as parts:
        found = await parts.records.find(superusers, {}, tenant_id=_PLATFORM, limit=MAX_OPERATORS)
    shown = [_shown(each) for each in sorted(found, key=lambda each: str(each["email"]))]
    none = "There are no operators. `masthead operator create` creates one."
    return Output(shown, none, ("email", "name", "id", "created"))


@command("reset-password", app)
@_email_option
@password_option("--password")
async def reset_password(invocation: Invocation, email: str, password: str | None) -> Output:
    """Sets a new password for an operator, and ends all sessions of the account."""
    from masthead.service.cli.account_recovery import set_password

    password = new_password(password, "--password")
    async with opened(invocation) as parts:
        operator = await _operator(parts, email)
        await set_password(parts, operator, password)
    text = f"{operator['email']} has a new password; all sessions have ended."
    return Output(_shown(operator), text)


@command("reset-factors", app)
@_email_option
async def reset_factors(invocation: Invocation, email: str) -> Output:
    """Removes the second factors of an operator who has lost them, and ends all sessions."""
    from masthead.service.cli import account_recovery

    async with opened(invocation) as parts:
        operator = await _operator(parts, email)
        await account_recovery.reset_factors(parts, operator)
    text = f"{operator['email']} has no second factor; all sessions have ended."
    return Output(_shown(operator), text)


@command("delete", app)
@_email_option
@yes_option
async def delete(invocation: Invocation, email: str, yes: bool) -> Output:
    """Deletes an operator's account; all its sessions end."""
    async with opened(invocation) as parts:
        operator = await _operator(parts, email)
        confirm(f"Delete the operator {operator['email']}?", yes=yes)
        await parts.records.delete(shell(), superusers, operator["id"])
    return Output(_shown(operator), f"{operator['email']} is no longer an operator.")


async def _operator(parts: Installation, email: str) -> Record:
    wanted = {"email": normal_email(email)}
    return await parts.records.require(
        superusers,
        wanted,
        tenant_id=_PLATFORM,
        missing=f"There is no operator {email!r}. `masthead operator list` shows them",
    )


def _shown(operator: Record) -> dict[str, Any]:
    return {name: operator[name] for name in ("id", "email", "name", "created")}
