"""`masthead operator`: creates platform operators."""

from __future__ import annotations

import click

from masthead.cli.invocation import Invocation, Shown, command, new_group
from masthead.cli.opened_installation import opened
from masthead.cli.secret_values import new_password, password_option
from masthead.identity.setup import create_operator

app = new_group("Creates platform operators.")


@command("create", app)
@click.option("--email", metavar="E", required=True)
@password_option("--password")
async def create(invocation: Invocation, email: str, password: str | None) -> Shown:
    """Creates a platform operator, who has access to every tenant."""
    password = new_password(password, "--password")
    async with opened(invocation, creates=True) as parts:
        operator_id = await create_operator(parts.records, email, password)
    return Shown({"id": operator_id}, f"Operator {email} is ready (id {operator_id}).")
