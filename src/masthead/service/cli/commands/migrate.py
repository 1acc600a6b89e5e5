"""`masthead migrate`: upgrades the database to the current schema."""

from __future__ import annotations

from masthead.service.cli.invocation import Invocation, Output, command
from masthead.service.cli.opened_installation import migrate_schema, quiet_logs


@command("migrate")
async def migrate(invocation: Invocation) -> Output:
    """Upgrades the database to the current schema."""
    settings = invocation.settings()
    quiet_logs()
    revision = await migrate_schema(settings)
    return Output({"revision": revision}, f"The database is at revision {revision}.")
