"""`--tenant`, the same option for every command."""

from __future__ import annotations

import click

tenant_option = click.option(
    "--tenant",
    "--tenant-id",
    "tenant",
    metavar="SLUG",
    required=True,
    help="The tenant's slug, or its id.",
)
