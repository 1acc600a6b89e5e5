"""The question before a command that can't be taken back, and `--yes`, which answers it."""

from __future__ import annotations

import sys

import click

yes_option = click.option("--yes", is_flag=True, help="Do it without asking.")


def confirm(question: str, *, yes: bool) -> None:
    """Goes on only if a person agrees. A script must have given `--yes`."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("Missing option '--yes': there is no terminal to ask on")
    # Standard output is for the result.
    if not click.confirm(question, err=True):
        raise click.ClickException("Nothing was changed")
