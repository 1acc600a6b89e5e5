"""`masthead mail`: takes notices of undeliverable emails from a mail server."""

from __future__ import annotations

import sys

import click

from masthead.service.cli.invocation import Invocation, Output, command, new_group
from masthead.service.cli.opened_installation import opened

app = new_group("Processes notices of undeliverable emails.")


@command("bounce", app)
async def bounce(invocation: Invocation) -> Output:
    """Reads one delivery status notification (RFC 3464) from standard input."""
    # Imported here: no other command reads emails.
    from masthead.features.mailings.notifications import MAX_BYTES, read_notification
    from masthead.features.mailings.reports import MailReports
    from masthead.service.schema import tables

    raw = sys.stdin.buffer.read(MAX_BYTES + 1)
    try:
        reports = read_notification(raw)
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    async with opened(invocation) as parts:
        taking = MailReports(parts.records, tables)
        for each in reports:
            await taking.take(each)
    hard = [each.email for each in reports if each.is_hard]
    text = f"Stopped newsletters to {', '.join(hard)}." if hard else "Nothing to stop."
    return Output({"hard": hard, "reports": len(reports)}, text)
