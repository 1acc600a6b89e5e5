"""Checks the proof of each served domain every week, because a domain may get another owner.

While the proof is missing, it is checked every day. The site's owner gets an email and a notice in
the admin; after two weeks, the site is served only at its subdomain. A domain that an operator has
set needs no proof and is not checked."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.config.settings import Settings
from masthead.base.ids import TenantId
from masthead.base.languages.moments import Day
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.engine.records.due_records import work_off_due
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit
from masthead.features.site.address import site_in
from masthead.features.site.collection import site_settings
from masthead.features.site.domain_proof import EVERY, DomainProofs, Outcome
from masthead.identity.owners import owner_in
from masthead.outside.mail.emails import write_email
from masthead.outside.mail.outbox import Outbox

EVERY_WHILE_MISSING = timedelta(days=1)
GRACE = timedelta(days=14)
_AT_ONCE = 1_000


class DomainChecks(msgspec.Struct, frozen=True):
    records: Records
    proofs: DomainProofs
    mail: Outbox
    settings: Settings

    async def run(self) -> None:
        """The worker's chore."""
        now = self.records.clock()

        async def check(tenant_id: TenantId, _: list[str]) -> None:
            for found in await self.records.find(site_settings, {}, tenant_id=tenant_id):
                outcome = await self.proofs.look(tenant_id, found["custom_domain"])
                await self._note(tenant_id, found["custom_domain"], outcome, now)

        await work_off_due(
            self.records, site_settings, "domain_check_at", now, work=check, at_once=_AT_ONCE
        )

    async def _note(
        self, tenant_id: TenantId, domain: str, outcome: Outcome, now: datetime
    ) -> None:
        async with self.records.unit(system(tenant_id)) as unit:
            for found in await unit.find(site_settings, {}, limit=1):
                # It may have changed while the name servers were asked.
                if found["custom_domain"] == domain and found["domain_check_at"]:
                    await unit.update(
                        site_settings,
                        found["id"],
                        {},
                        stamped=await self._stamps(unit, found, outcome, now),
                    )

    async def _stamps(
        self, unit: Unit, found: Record, outcome: Outcome, now: datetime
    ) -> dict[str, str]:
        if outcome is Outcome.PROVEN:
            return _stamps(check=now + EVERY)
        since = found["domain_missing_since"]
        if outcome is Outcome.UNREACHABLE:
            # Name servers that don't answer say nothing about the owner.
            return _stamps(check=now + EVERY_WHILE_MISSING, since=since)
        if since and now - clock.from_text(since) >= GRACE:
            await self._tell(unit, found, None)
            return {"custom_domain": "", **_stamps()}
        if not since:
            since = clock.to_text(now)
            await self._tell(unit, found, now + GRACE)
        return _stamps(check=now + EVERY_WHILE_MISSING, since=since)

    async def _tell(self, unit: Unit, found: Record, ends: datetime | None) -> None:
        owner = await owner_in(unit)
        if owner is None:
            return
        site, domain = await site_in(unit, self.settings), found["custom_domain"]
        proof = self.proofs.record_of(unit.tenant_id, domain)
        mail = write_email(
            "domain_unproven",
            site.for_staff(owner),
            owner["email"],
            subject=(
                words("The domain of %(site)s: its TXT record is missing", site=site.name)
                if ends
                else words("The domain of %(site)s: it has ended", site=site.name)
            ),
            domain=domain,
            record_name=proof.name,
            record_value=proof.value,
            ends=Day(ends) if ends else "",
        )
        await self.mail.queue(unit, mail)


def _stamps(*, check: datetime | None = None, since: str = "") -> dict[str, str]:
    return {
        "domain_check_at": clock.to_text(check) if check else "",
        "domain_missing_since": since,
    }
