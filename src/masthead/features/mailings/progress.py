"""The course of a mailing as a whole: it starts, is shown, is paused by the breaker, and ends."""

from __future__ import annotations

import time
from typing import Final

from masthead.base.caller import system
from masthead.base.config.settings import Settings
from masthead.base.languages.words import marked, staff_marked
from masthead.base.logs import log
from masthead.engine.jobs.isolation import isolated
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit
from masthead.features.mailings.collection import (
    CANCELLED,
    FAILED,
    PAUSED,
    SCHEDULED,
    SENDING,
    SENT,
    mailings,
)
from masthead.features.mailings.forms import FormCache
from masthead.features.mailings.queue import MailingKey, Progress
from masthead.features.mailings.queue_statements import SITE_SUSPENDED
from masthead.features.mailings.staging import stage_many
from masthead.features.mailings.starting import NOTHING_TO_SEND, Starting
from masthead.features.mailings.stopped_email import mailing_stopped
from masthead.features.site.address import site_in
from masthead.identity.owners import owner_in
from masthead.outside.mail.outbox import Outbox

SHOWN_EVERY_SECONDS: Final = 2.0
MIN_TRIED: Final = 50
MAX_BOUNCED: Final = 0.05
"""The breaker: more hard bounces than this share of at least `MIN_TRIED` pause a mailing."""

TOO_MANY_BOUNCES: Final = staff_marked(
    "Too many addresses have no mailbox. Check where these members came from, then resume the "
    "mailing or cancel it."
)

NONE_ACCEPTED: Final = marked(
    "The mail server accepted none of the emails. The list of recipients has its replies."
)


class MailingProgress:
    def __init__(
        self,
        records: Records,
        starting: Starting,
        forms: FormCache,
        outbox: Outbox,
        *,
        settings: Settings,
    ) -> None:
        self._records = records
        self._starting = starting
        self._forms = forms
        self._outbox = outbox
        self._settings = settings
        self._changed: dict[str, MailingKey] = {}
        self._shown_at = 0.0

    async def start(self, key: MailingKey) -> None:
        await stage_many(self._records, self._starting.recipients, *key)
        async with self._records.unit(system(key.tenant_id)) as unit:
            await self._starting.start_due(unit, key.mailing_id)

    async def hold(self, key: MailingKey) -> None:
        """Its site is suspended."""
        async with self._records.unit(system(key.tenant_id)) as unit:
            if await _is_sending(unit, key):
                held = {"status": PAUSED, "reason": SITE_SUSPENDED}
                await unit.update(mailings, key.mailing_id, {}, stamped=held)

    async def go_on(self, key: MailingKey) -> None:
        """Its site is open again."""
        async with self._records.unit(system(key.tenant_id)) as unit:
            found = {"id": key.mailing_id, "status": PAUSED, "reason": SITE_SUSPENDED}
            if await unit.find(mailings, found, limit=1):
                going_on = {"status": SENDING, "reason": ""}
                await unit.update(mailings, key.mailing_id, {}, stamped=going_on)

    async def end(self, key: MailingKey) -> None:
        async with self._records.unit(system(key.tenant_id)) as unit:
            await self._end(unit, key)
        self._forms.forget(key)

    async def give_up(self, key: MailingKey) -> None:
        """There is nothing left to send."""
        values = {"status": CANCELLED, "reason": NOTHING_TO_SEND}
        async with self._records.unit(system(key.tenant_id)) as unit:
            if await _is_sending(unit, key):
                values["finished_at"] = unit.now
                await unit.update(mailings, key.mailing_id, {}, stamped=values)

    async def fail(self, key: MailingKey, reason: str) -> None:
        """It can't go on. Its open recipients stay open, so that staff can resume it."""
        async with self._records.unit(system(key.tenant_id)) as unit:
            found = await unit.find_one(mailings, {"id": key.mailing_id})
            if found and found["status"] in (SCHEDULED, SENDING):
                failed = {"status": FAILED, "reason": reason, "finished_at": unit.now}
                await unit.update(mailings, key.mailing_id, {}, stamped=failed)
        self._forms.forget(key)

    async def noticed(self, key: MailingKey, progress: Progress) -> None:
        """Called after each commit of results."""
        self._changed[key.tenant_id] = key
        tried = progress.sent + progress.failed - progress.tried_before
        bounced = progress.bounced - progress.bounced_before
        if tried >= MIN_TRIED and bounced >= tried * MAX_BOUNCED:
            await self._pause(key)

    async def show(self) -> None:
        """Invalidates answers that were cached with older counts."""
        if time.monotonic() < self._shown_at + SHOWN_EVERY_SECONDS:
            return
        self._shown_at = time.monotonic()
        changed, self._changed = self._changed, {}
        for key in changed.values():
            with isolated("mailings.show", tenant_id=key.tenant_id):
                # Taking the site's next version is enough.
                async with self._records.unit(system(key.tenant_id)):
                    pass

    async def _pause(self, key: MailingKey) -> None:
        async with self._records.unit(system(key.tenant_id)) as unit:
            if not await _is_sending(unit, key):
                return
            values = {"status": PAUSED, "reason": TOO_MANY_BOUNCES}
            mailing = await unit.update(mailings, key.mailing_id, {}, stamped=values)
            await self._notify(unit, mailing)
        log.warning("mailings.paused", tenant_id=key.tenant_id, mailing_id=key.mailing_id)

    async def _notify(self, unit: Unit, mailing: Record) -> None:
        owner = await owner_in(unit)
        if owner is None:
            return
        site = await site_in(unit, self._settings)
        mail = mailing_stopped(mailing, site.for_staff(owner), owner["email"])
        await self._outbox.queue(unit, mail)

    async def _end(self, unit: Unit, key: MailingKey) -> None:
        found = await unit.find_one(mailings, {"id": key.mailing_id})
        if not found or found["status"] != SENDING:
            return
        if await self._starting.recipients.has_open(unit, key.mailing_id):
            return
        refused = found["failed"] + found["uncertain"]
        has_failed = bool(refused and not found["sent"])
        ended = {
            "status": FAILED if has_failed else SENT,
            "reason": NONE_ACCEPTED if has_failed else "",
            "finished_at": unit.now,
        }
        await unit.update(mailings, key.mailing_id, {}, stamped=ended)


async def _is_sending(unit: Unit, key: MailingKey) -> bool:
    found = await unit.find_one(mailings, {"id": key.mailing_id})
    return bool(found and found["status"] == SENDING)
