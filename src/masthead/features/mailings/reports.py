"""Bounces and complaints that arrive after the mail server took an email."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
import sqlalchemy as sa

from masthead.base import ids
from masthead.engine.records.engine import Records
from masthead.features.mailings.collection import mailings
from masthead.features.mailings.stopping import StoppedAddresses
from masthead.features.mailings.tables import mailing_recipients
from masthead.features.members.collection import BOUNCED, COMPLAINED
from masthead.storage.database import EVERY_TENANT

MAX_REPORTS: Final = 1_000
"""In one call."""


class Report(msgspec.Struct, frozen=True):
    state: str
    """`bounced` or `complained`."""
    email: str
    is_hard: bool = True
    """A soft bounce, such as a full mailbox, changes nothing."""
    message_id: str = ""
    reason: str = ""


class MailReports:
    def __init__(self, records: Records, tables: Mapping[str, sa.Table]) -> None:
        self._database = records.database
        self._stopped = StoppedAddresses(records)
        r, m = mailing_recipients.c, tables[mailings.name].c
        self._note = self._database.compile(
            sa.update(mailing_recipients)
            .where(
                r.tenant_id == sa.bindparam("tenant"),
                r.mailing_id == sa.bindparam("mailing"),
                r.member_id == sa.bindparam("member"),
                # A provider may report the same twice, and a complaint can follow a bounce.
                r.report != sa.bindparam("what"),
                r.report != COMPLAINED,
            )
            .values(report=sa.bindparam("what"))
        )
        this = (m.tenant_id == sa.bindparam("tenant"), m.id == sa.bindparam("mailing"))
        self._count = {
            state: self._database.compile(
                sa.update(tables[mailings.name]).where(*this).values({state: m[state] + 1})
            )
            for state in (BOUNCED, COMPLAINED)
        }

    async def take(self, report: Report) -> None:
        """Does nothing for an unknown address, and nothing twice."""
        if not report.is_hard:
            return
        await self._add_to_mailing(report)
        await self._stopped.stop(report.email, report.state, report.reason)

    async def _add_to_mailing(self, report: Report) -> None:
        key = _recipient_of(report.message_id)
        if key is None:
            return
        count = self._count[report.state]
        async with self._database.transaction(EVERY_TENANT) as tx:
            values = {**key, "what": report.state}
            if await tx.execute(*self._note(values)):
                await tx.execute(*count(key))


def _recipient_of(message_id: str) -> dict[str, str] | None:
    """None if the email was not a mailing's."""
    parts = message_id.strip().strip("<>").partition("@")[0].split(".")
    if len(parts) != 3 or not all(map(ids.is_id, parts)):
        return None
    return {"mailing": parts[0], "member": parts[1], "tenant": parts[2]}
