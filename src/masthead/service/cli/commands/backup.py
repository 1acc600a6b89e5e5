"""`masthead backup`: one archive of database, media and secrets while the service runs."""

from __future__ import annotations

import click

from masthead.service.backup.place import read_archive, written_archive
from masthead.service.backup.readable_secrets import check_secrets
from masthead.service.backup.take import take_backup
from masthead.service.cli.arguments import counted, files_are, records_and_files, warn
from masthead.service.cli.invocation import Invocation, Output, command
from masthead.service.cli.opened_installation import opened
from masthead.service.cli.progress import progress
from masthead.storage.archives import ArchiveCounts

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
    from masthead.service.backup.verify import verify_backup

    async with read_archive(file) as path:
        with progress(dict.fromkeys(("checked",))) as count:
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
    found = records_and_files(verified.records, verified.media)
    lines = [f"{file} is whole: {found}, of {header.created}."]
    if verified.missing:
        lines.append(f"{files_are(verified.missing)} missing, which its records name.")
    if verified.unreadable:
        lines.append(
            f"{counted(verified.unreadable, 'stored secret')} can't be read with its root secret."
        )
    return Output(data, "\n".join(lines))


async def _take(invocation: Invocation, file: str) -> Output:
    async with opened(invocation) as installation:
        unreadable = await check_secrets(
            installation.settings, installation.keyring, installation.records
        )
        async with written_archive(file) as path:
            with progress(dict.fromkeys(("records", "media"))) as count:
                taken = await take_backup(installation.settings, installation.objects, path, count)
    if unreadable:
        warn(
            f"{counted(unreadable, 'stored secret')} can't be read with the root secret. "
            "Set what is missing again."
        )
    if taken.missing:
        warn(_missing(taken))
    data = {
        "file": file,
        "bytes": taken.bytes,
        "records": taken.records,
        "media": taken.media,
    }
    written = records_and_files(taken.records, taken.media)
    return Output(data, f"Wrote {written} to {file} ({taken.bytes:,} bytes).")


def _missing(taken: ArchiveCounts) -> str:
    more = " …" if taken.missing > len(taken.first_missing) else ""
    return (
        f"{files_are(taken.missing)} missing, which records name: "
        f"{', '.join(taken.first_missing)}{more}."
    )
