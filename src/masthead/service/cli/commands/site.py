"""`masthead site`: one whole site as a file, and back, also into another installation."""

from __future__ import annotations

from pathlib import Path

import click

from masthead.faces.site_archive.export import export_site
from masthead.faces.site_archive.importing import Imported, import_site
from masthead.identity.limits.plans import Plan
from masthead.service.cli.arguments import (
    counted,
    files_are,
    records_and_files,
    refuse_existing,
    replace_option,
    tenant_option,
    warn,
)
from masthead.service.cli.invocation import Invocation, Output, command, new_group
from masthead.service.cli.opened_installation import opened, opened_site
from masthead.service.cli.progress import progress
from masthead.service.cli.secret_values import read_secret
from masthead.storage.archives import ArchiveCounts

app = new_group("Moves one whole site between installations, as a file.")

FILE = click.argument("file", metavar="FILE", type=click.Path(path_type=Path))


@command("export", app)
@tenant_option
@click.option(
    "--passphrase",
    metavar="P",
    help="Includes the site's secrets, encrypted with it. `-` reads it from standard input.",
)
@replace_option
@FILE
async def export(
    invocation: Invocation, tenant: str, passphrase: str | None, *, replace: bool, file: Path
) -> Output:
    """Writes everything of one site into FILE, while the service runs.

    The file appears when it is complete. It has the members' addresses: store it safely. API keys
    are not in it.
    """
    refuse_existing(file, replace=replace)
    secret = "" if passphrase is None else read_secret(passphrase, "--passphrase")
    async with opened_site(invocation, tenant) as site:
        with progress(dict.fromkeys(("records", "media"))) as advance:

            async def count(kind: str, number: int) -> None:
                advance(kind, number)

            written = await export_site(
                site.parts, site.tenant, file, passphrase=secret, replaces=replace, count=count
            )
    for line in _export_warnings(written):
        warn(line)
    text = (
        f"Wrote {records_and_files(written.records, written.media)} to {file} "
        f"({written.bytes:,} bytes)."
    )
    return Output(_data(file, written), text)


def _export_warnings(written: ArchiveCounts) -> list[str]:
    lines = []
    if written.missing:
        more = " …" if written.missing > len(written.first_missing) else ""
        shown = ", ".join(written.first_missing)
        lines.append(f"{files_are(written.missing)} missing: {shown}{more}.")
    if written.unreadable:
        lines.append(
            f"{counted(written.unreadable, 'stored secret')} can't be read with the root secret. "
            "What can't be read is not in the file."
        )
    return lines


@command("import", app)
@click.option("--slug", metavar="S", default="", help="Instead of the slug in the file.")
@click.option(
    "--plan",
    type=click.Choice([each.value for each in Plan]),
    default=Plan.FREE.value,
    show_default=True,
    help="The file does not choose it.",
)
@click.option(
    "--passphrase",
    metavar="P",
    help="The passphrase of the export, for the site's secrets. `-` reads it from standard input.",
)
@FILE
async def import_(
    invocation: Invocation, slug: str, plan: str, passphrase: str | None, *, file: Path
) -> Output:
    """Makes a new site of an archive that `site export` wrote.

    All ids are new. The site opens when all of it is there; if anything fails, nothing is left.
    Nothing is sent: no event, no webhook, no email.
    """
    secret = "" if passphrase is None else read_secret(passphrase, "--passphrase")
    async with opened(invocation, creates=True) as installation:
        with progress(dict.fromkeys(("checked", "records", "media"))) as count:
            imported = await import_site(
                installation, file, slug=slug, plan=Plan(plan), passphrase=secret, count=count
            )
    for line in _import_warnings(imported):
        warn(line)
    data = _data(file, imported) | {
        "tenant_id": imported.tenant_id,
        "slug": imported.slug,
        "plan": plan,
    }
    text = (
        f"Imported {records_and_files(imported.records, imported.media)} as the site "
        f"{imported.slug}, on the plan {plan}."
    )
    return Output(data, text)


def _import_warnings(imported: Imported) -> list[str]:
    lines = []
    if imported.secrets_left_out:
        lines.append(
            "The file has the site's secrets, which were left out without --passphrase. Webhooks "
            "are paused and have new secrets."
        )
    if imported.passphrase_unused:
        lines.append("The file has no secrets, so the passphrase was not used.")
    if imported.missing:
        lines.append(f"{files_are(imported.missing)} not in the file.")
    return lines


def _data(file: Path, done: ArchiveCounts | Imported) -> dict[str, object]:
    return {
        "file": str(file),
        "bytes": done.bytes,
        "records": done.records,
        "media": done.media,
        "missing_files": done.missing,
    }
