"""The options and questions that several commands share, and numbers in their sentences."""

from __future__ import annotations

import sys
from pathlib import Path

import click

tenant_option = click.option(
    "--tenant",
    "--tenant-id",
    "tenant",
    metavar="SLUG",
    required=True,
    help="The tenant's slug, or its id.",
)
yes_option = click.option("--yes", is_flag=True, help="Do it without asking.")
replace_option = click.option("--replace", is_flag=True, help="Replace the file if it exists.")


def confirm(question: str, *, yes: bool) -> None:
    """Goes on only if a person agrees. A script must have given `--yes`."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("Missing option '--yes': there is no terminal to ask on")
    # Standard output is for the result.
    if not click.confirm(question, err=True):
        raise click.ClickException("Nothing was changed")


def refuse_existing(path: Path, *, replace: bool) -> None:
    """Before the work, which may take minutes."""
    if not replace and path.is_file():
        raise click.ClickException(f"{path} exists already. Name a new file, or add --replace")


def parse_time(value: str, option: str) -> str:
    """The time in the format of stored records; '' for ''."""
    # Imported here: most commands take no time.
    from masthead.engine.records.fields.values import read_moment

    parsed = read_moment(value) if value else ""
    if parsed is None:
        raise click.BadParameter(
            f"{value!r} is not a date such as 2027-01-31T09:30:00Z", param_hint=option
        )
    return parsed


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 stored file`, `1,204 stored files`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def records_and_files(records: int, files: int) -> str:
    return f"{counted(records, 'record')} and {counted(files, 'stored file')}"


def files_are(number: int) -> str:
    return f"{counted(number, 'stored file')} {'is' if number == 1 else 'are'}"


def warn(sentence: str) -> None:
    """On standard error, beside the result."""
    sys.stderr.write(f"masthead: {sentence}\n")
