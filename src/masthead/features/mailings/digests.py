"""Weekly digests: mailings whose text is a list of the posts since the last one."""

from __future__ import annotations

from typing import Final

import msgspec

from masthead.base import clock
from masthead.base.caller import Audience, Reader, system
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Record
from masthead.engine.records.due_records import work_off_due
from masthead.engine.records.engine import Records
from masthead.features.mailings.collection import DIGEST, EVERYONE, PAID, SCHEDULED, mailings
from masthead.features.mailings.digest_letters import digest_subject, posts_of_weeks, readable
from masthead.features.mailings.starting import Starting
from masthead.features.members.digest_times import next_digest
from masthead.features.members.newsletters import newsletters
from masthead.features.site.collection import site_settings

MAX_DUE: Final = 1_000


class Digests(msgspec.Struct, frozen=True):
    records: Records
    starting: Starting

    async def start_due(self) -> None:
        """Several processes may do it at once: the newsletter says what is still due."""
        now = self.records.clock()
        await work_off_due(
            self.records, newsletters, "digest_at", now, work=self._start_some, at_once=MAX_DUE
        )

    async def _start_some(self, tenant_id: TenantId, ids: list[str]) -> None:
        for newsletter_id in ids:
            await self._start(tenant_id, newsletter_id)

    async def _start(self, tenant_id: TenantId, newsletter_id: str) -> None:
        find = self.records.find
        for newsletter in await find(newsletters, {"id": newsletter_id}, tenant_id=tenant_id):
            if not newsletter["digest_at"]:
                continue
            until, following = await self._weeks(tenant_id, newsletter)
            readers = await self._readers(tenant_id, newsletter, until)
            async with self.records.unit(system(tenant_id)) as unit:
                now = await unit.find_one(newsletters, {"id": newsletter_id})
                # Another process has done it, or staff has changed it.
                if unit.is_read_only or not now or now["version"] != newsletter["version"]:
                    continue
                if readers:
                    [settings] = await unit.find(site_settings, {}, limit=1)
                    subject = digest_subject(newsletter, settings["language"])
                    values = _mailing(newsletter, subject, readers, until)
                    await unit.create(mailings, {}, stamped=values)
                stamped = {"digest_at": following, "digest_since": until}
                await unit.update(newsletters, newsletter_id, {}, stamped=stamped)

    async def _weeks(self, tenant_id: TenantId, newsletter: Record) -> tuple[str, str]:
        """The end of the last week that is over, and when the next one is. Weeks that passed while
        no worker was running are in one digest."""
        stored = await self.records.find_one(site_settings, {}, tenant_id=tenant_id)
        zone = stored["time_zone"] if stored else ""
        until = clock.from_text(newsletter["digest_at"])
        while (following := next_digest(newsletter, until, zone)) <= self.records.clock():
            until = following
        return clock.to_text(until), clock.to_text(following)

    async def _readers(self, tenant_id: TenantId, newsletter: Record, until: str) -> str:
        """The audience that has something to read; '' if nobody has, or nobody would get it."""
        since = newsletter["digest_since"]
        found = await posts_of_weeks(self.records, tenant_id, since=since, until=until)
        if not found:
            return ""
        whom = EVERYONE if readable(found, Reader(Audience.FREE)) else PAID
        wanted = {"newsletter": newsletter["slug"], "audience": whom, "labels": []}
        return whom if await self.starting.preview(tenant_id, wanted) else ""


def _mailing(newsletter: Record, subject: str, readers: str, until: str) -> Record:
    return {
        "kind": DIGEST,
        "newsletter": newsletter["slug"],
        "subject": subject,
        "audience": readers,
        "status": SCHEDULED,
        "scheduled_for": until,
        "digest_from": newsletter["digest_since"],
        "digest_until": until,
    }
