"""`masthead operator`: creates the people who run the platform."""

from __future__ import annotations

from typing import Annotated

import typer

from masthead.cli.invocation import Invocation, Shown, command, new_app
from masthead.cli.opened import opened
from masthead.identity.setup import create_operator

app = new_app("Creates platform operators.")


@command(app, "create")
async def create(
    invocation: Invocation,
    email: Annotated[str, typer.Option(metavar="E")],
    password: Annotated[str, typer.Option(metavar="P")],
) -> Shown:
    """Makes a platform operator, who sees every tenant."""
    async with opened(invocation) as parts:
        operator_id = await create_operator(parts.records, email, password)
    return Shown({"id": operator_id}, f"Operator {email} is ready (id {operator_id}).")
