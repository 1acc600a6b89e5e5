"""`masthead restore`: restores a backup into an empty installation."""

from __future__ import annotations

import click

from masthead.base.errors import Unavailable
from masthead.service.backup.place import read_archive
from masthead.service.backup.restore import restore_backup
from masthead.service.cli.arguments import records_and_files
from masthead.service.cli.invocation import Invocation, Output, command
from masthead.service.cli.opened_installation import UnreachableDatabase, quiet_logs
from masthead.service.cli.progress import progress


@command("restore")
@click.argument("file", metavar="FILE")
async def restore(invocation: Invocation, file: str) -> Output:
    """Restores a backup into an empty data directory and database.

    The whole archive is checked before anything is written. FILE may be s3://bucket/key.
    """
    settings = invocation.settings()
    quiet_logs()
    async with read_archive(file) as path:
        with progress(dict.fromkeys(("checked", "records", "media"))) as count:
            try:
                restored = await restore_backup(settings, path, count)
            except Unavailable as error:
                raise UnreachableDatabase(settings, error) from error
    data = {"bytes": restored.bytes, "records": restored.records, "media": restored.media}
    return Output(data, f"Restored {records_and_files(restored.records, restored.media)}.")
