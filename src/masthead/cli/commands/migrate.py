"""`masthead migrate`: upgrades the database to the current schema."""

from __future__ import annotations

from masthead.cli.invocation import Invocation, Output, command
from masthead.cli.opened_installation import configure_logs, migrate_schema


@command("migrate")
async def migrate(invocation: Invocation) -> Output:
    """Upgrades the database to the current schema."""
    settings = invocation.settings()
    configure_logs(settings)
    revision = await migrate_schema(settings)
    return Output({"revision": revision}, f"The database is at revision {revision}.")
