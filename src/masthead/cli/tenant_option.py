"""`--tenant`, the one way in which every command names a tenant."""

from __future__ import annotations

from typing import Annotated

import typer

Tenant = Annotated[
    str,
    typer.Option("--tenant", "--tenant-id", metavar="SLUG", help="The tenant's slug, or its id."),
]
