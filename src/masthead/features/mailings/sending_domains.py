"""The domains that emails come from: their keys are made, their DNS records are checked on demand
and once a day, and what was found is stored."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

import msgspec

from masthead.base import clock
from masthead.base.caller import Caller, system
from masthead.base.ids import TenantId
from masthead.base.languages.words import staff_words
from masthead.engine.records.collection import Record
from masthead.engine.records.due_records import work_off_due
from masthead.engine.records.engine import Records
from masthead.identity.limits.sliding_window import Limits
from masthead.identity.limits.windows import Allowance, Windows
from masthead.outside.mail.collection import sending_domains
from masthead.outside.mail.dns_records import DnsChecks, Finding, RecordState, are_right
from masthead.outside.mail.signing_keys import PLATFORM, SigningKeys

EVERY: Final = timedelta(days=1)
CHECKS: Final = Allowance(
    "sending-domain-checks",
    Limits(per_minute=20, per_hour=600),
    staff_words("Too many checks at once. Try again in a few minutes."),
)
"""Checks of one site. A page that is open checks twice a minute."""
_AT_ONCE: Final = 1_000


class SendingDomains(msgspec.Struct, frozen=True):
    records: Records
    keys: SigningKeys
    checks: DnsChecks
    windows: Windows

    async def check(self, caller: Caller, record: Record) -> list[Finding]:
        """Looks its records up and stores what was found. Raises RateLimited."""
        await self.windows.take(caller.tenant_id or PLATFORM, CHECKS)
        return await self._check_records(caller, record)

    async def run(self) -> None:
        """The worker's chore: what was right may be gone, and what was missing may be there."""
        now = self.records.clock()
        await work_off_due(
            self.records,
            sending_domains,
            "check_at",
            now,
            work=self._check_again,
            at_once=_AT_ONCE,
        )

    async def _check_again(self, tenant_id: TenantId, ids: list[str]) -> None:
        for each in ids:
            key = {"id": each}
            for record in await self.records.find(sending_domains, key, tenant_id=tenant_id):
                await self._check_records(system(tenant_id or None), record)

    async def _check_records(self, caller: Caller, record: Record) -> list[Finding]:
        findings = await self.checks.look(record, is_installation=not record["tenant_id"])
        needed = [each for each in findings if each.wanted.is_needed]
        now = self.records.clock()
        stamped: dict[str, Any] = {"check_at": clock.to_text(now + EVERY)}
        # Name servers that don't answer say nothing about the records.
        if all(each.state is not RecordState.UNREACHABLE for each in needed):
            stamped |= {
                "is_ready": are_right(needed),
                "problem": " ".join(each.sentence for each in needed if each.sentence)[:1_000],
                "checked_at": clock.to_text(now),
            }
        async with self.records.unit(caller) as unit:
            for known in await unit.find(sending_domains, {"id": record["id"]}, limit=1):
                # Not of a key that was replaced meanwhile.
                if known["selector"] == record["selector"]:
                    await unit.update(sending_domains, known["id"], {}, stamped=stamped)
        return findings
