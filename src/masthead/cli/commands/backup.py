"""`masthead backup`: one archive of database, media and secrets while the service runs."""

from __future__ import annotations

import sys

import click

from masthead.backup.place import read_archive, written_archive
from masthead.backup.readable_secrets import check_secrets
from masthead.backup.take import Taken, take_backup
from masthead.cli.counters import counters
from masthead.cli.invocation import Invocation, Output, command
from masthead.cli.opened_installation import opened

VERIFY = "verify"


@command("backup")
@click.argument("words", metavar="[verify] FILE", nargs=-1, required=True)
async def backup(invocation: Invocation, words: tuple[str, ...]) -> Output:
    """Writes database, media and secrets into one archive, while the service runs.

    The file appears when it is complete. It holds the root secret: store it like a password.
    FILE may be s3://bucket/key. `verify` checks an archive instead, and changes nothing.
    """
    is_check = words[0] == VERIFY
    if len(words) != 1 + is_check:
        raise click.UsageError("Name one file: `backup FILE` or `backup verify FILE`")
    return await (_verify if is_check else _take)(invocation, words[-1])


async def _verify(_: Invocation, file: str) -> Output:
    """Needs no installation: the archive has all that it takes."""
    # Imported here: a backup does not read archives.
    from masthead.backup.verify import verify_backup

    async with read_archive(file) as path:
        with counters("checked") as count:
            verified = await verify_backup(path, count)
    header = verified.contents.header
    data = {
        "file": file,
        "bytes": verified.contents.bytes,
        "records": verified.records,
        "media": verified.media,
        "created": header.created,
        "version": header.version,
        "missing_files": verified.missing,
        "unreadable_secrets": verified.unreadable,
    }
    found = f"{verified.records:,} records and {verified.media:,} stored files"
    lines = [f"{file} is whole: {found}, of {header.created}."]
    if verified.missing:
        lines.append(f"{verified.missing:,} stored files are missing, which its records name.")
    if verified.unreadable:
        lines.append(f"{verified.unreadable} stored secrets can't be read with its root secret.")
    return Output(data, "\n".join(lines))


async def _take(invocation: Invocation, file: str) -> Output:
    async with opened(invocation) as installation:
        unreadable = await check_secrets(
            installation.settings, installation.keyring, installation.records
        )
        async with written_archive(file) as path:
            with counters("records", "media") as count:
                taken = await take_backup(installation.settings, installation.objects, path, count)
    if unreadable:
        sys.stderr.write(
            f"masthead: {unreadable} stored secrets can't be read with the root secret; set them "
            "again.\n"
        )
    if taken.missing:
        sys.stderr.write(f"masthead: {_missing(taken)}\n")
    data = {
        "file": file,
        "bytes": taken.bytes,
        "records": taken.records,
        "media": taken.media,
    }
    written = f"{taken.records:,} records and {taken.media:,} stored files"
    return Output(data, f"Wrote {written} to {file} ({taken.bytes:,} bytes).")


def _missing(taken: Taken) -> str:
    more = " …" if taken.missing > len(taken.first_missing) else ""
    return (
        f"{taken.missing:,} stored files that records name are missing: "
        f"{', '.join(taken.first_missing)}{more}."
    )
