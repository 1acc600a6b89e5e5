"""`masthead backup`: one archive of database, media and secrets while the service runs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from masthead.backup.take import Taken, take_backup
from masthead.cli.counters import counters
from masthead.cli.invocation import Invocation, Shown, command
from masthead.cli.opened_installation import opened


@command("backup")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
async def backup(invocation: Invocation, file: Path) -> Shown:
    """Writes database, media and secrets into one archive, while the service runs.

    The file appears when it is complete. It holds the root secret: store it like a password.
    """
    async with opened(invocation) as installation:
        with counters("records", "media") as count:
            taken = await take_backup(installation.settings, installation.objects, file, count)
    if taken.missing:
        sys.stderr.write(f"masthead: {_missing(taken)}\n")
    data = {
        "file": str(file),
        "bytes": taken.bytes,
        "records": taken.records,
        "media": taken.media,
    }
    written = f"{taken.records:,} records and {taken.media:,} stored files"
    return Shown(data, f"Wrote {written} to {file} ({taken.bytes:,} bytes).")


def _missing(taken: Taken) -> str:
    more = " …" if taken.missing > len(taken.first_missing) else ""
    return (
        f"{taken.missing:,} stored files are missing, which their records name: "
        f"{', '.join(taken.first_missing)}{more}."
    )
