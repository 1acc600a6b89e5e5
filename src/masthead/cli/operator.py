"""`masthead operator`: creates the people who run the platform."""

from __future__ import annotations

from typing import Annotated

import typer

from masthead.cli.invocation import Invocation, Shown, command, new_app
from masthead.cli.opened import opened
from masthead.cli.secret_values import Password, new_password
from masthead.identity.setup import create_operator

app = new_app("Creates platform operators.")


@command(app, "create")
async def create(
    invocation: Invocation,
    email: Annotated[str, typer.Option(metavar="E")],
    password: Password = None,
) -> Shown:
    """Makes a platform operator, who sees every tenant."""
    password = new_password(password, "--password")
    async with opened(invocation, creates=True) as parts:
        operator_id = await create_operator(parts.records, email, password)
    return Shown({"id": operator_id}, f"Operator {email} is ready (id {operator_id}).")
