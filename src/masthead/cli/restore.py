"""`masthead restore`: brings a backup back into an empty installation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from masthead.backup.restore import restore_backup
from masthead.cli.counting import counting
from masthead.cli.invocation import Invocation, Shown, command, new_app
from masthead.cli.opened import UnreachableDatabase, configure_logs
from masthead.errors import Unavailable

app = new_app()


@command(app, "restore")
async def restore(
    invocation: Invocation, file: Annotated[Path, typer.Argument(metavar="FILE")]
) -> Shown:
    """Restores a backup into an empty data directory and database.

    The whole archive is checked before anything is written.
    """
    settings = invocation.settings()
    configure_logs(settings)
    with counting("checked", "records", "media") as tell:
        try:
            restored = await restore_backup(settings, file, tell)
        except Unavailable as error:
            raise UnreachableDatabase from error
    data = {"bytes": restored.bytes, "records": restored.records, "media": restored.media}
    return Shown(
        data, f"Restored {restored.records:,} records and {restored.media:,} stored files."
    )
