"""Actions of staff on a mailing: pause, resume, cancel, send the uncertain emails again, send a
test."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import msgspec
import sqlalchemy as sa

from masthead.base.caller import Audience, Reader
from masthead.base.errors import Invalid, Problem, WrongState
from masthead.base.ids import TenantId
from masthead.base.languages.words import staff_words
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit
from masthead.features.mailings.collection import (
    CANCELLED,
    ENDED,
    FAILED,
    PAUSED,
    SCHEDULED,
    SENDING,
    STATUS_WORDS,
    WELCOME,
    has_reached_nobody,
    mailings,
    refuse_sending,
)
from masthead.features.mailings.letter import draw_letter
from masthead.features.mailings.senders import Senders
from masthead.features.mailings.starting import NO_NEWSLETTER, NO_POST, Starting
from masthead.features.mailings.tables import RecipientState, mailing_recipients
from masthead.features.members.newsletters import newsletters
from masthead.features.posts.collection import posts
from masthead.features.posts.site import reader_of_all
from masthead.features.site.collection import MAIN_NEWSLETTER
from masthead.identity.tenants import superusers
from masthead.outside.mail.message import RenderedMail
from masthead.outside.mail.outbox import Outbox
from masthead.storage.database import Database

NO_STAFF = Problem(
    "validation_not_staff", staff_words("Must be the email address of someone on the staff.")
)
NEVER_ENDS = staff_words(
    "A welcome email goes on with every new member. Turn it off in the settings instead."
)
NONE_UNCERTAIN = staff_words("No recipient of the mailing is uncertain.")
MAX_SUBJECT = 255


class MailingActions:
    """Each runs in the caller's unit and returns the mailing as it is afterwards."""

    def __init__(self, database: Database, starting: Starting) -> None:
        self._starting = starting
        r = mailing_recipients.c
        self._reopen = database.compile(
            sa.update(mailing_recipients)
            .where(
                r.tenant_id == sa.bindparam("tenant"),
                r.mailing_id == sa.bindparam("mailing"),
                r.state == RecipientState.UNCERTAIN.value,
            )
            .values(
                state=RecipientState.PENDING.value,
                due_at=sa.bindparam("now"),
                attempts=0,
                reply="",
                ended_at="",
            )
        )

    async def pause(self, unit: Unit, mailing_id: str) -> Record:
        """No further email leaves after the commit."""
        mailing = await _open_mailing(unit, mailing_id)
        return await _set(unit, mailing, status=PAUSED)

    async def resume(self, unit: Unit, mailing_id: str) -> Record:
        """Also one that has failed before every recipient was tried."""
        mailing = await _mailing(unit, mailing_id)
        if mailing["status"] == FAILED:
            await self._check_may_go_on(unit, mailing)
        elif (await _open_mailing(unit, mailing_id))["status"] != PAUSED:
            return mailing
        status = SENDING if mailing["started_at"] else SCHEDULED
        # The breaker begins anew: staff knows of the bounces so far.
        tried = mailing["sent"] + mailing["failed"]
        return await _set(
            unit,
            mailing,
            status=status,
            reason="",
            finished_at="",
            tried_before=tried,
            bounced_before=mailing["bounced"],
        )

    async def cancel(self, unit: Unit, mailing_id: str) -> Record:
        mailing = await _open_mailing(unit, mailing_id)
        if mailing["kind"] == WELCOME:
            raise WrongState(NEVER_ENDS)
        return await _set(unit, mailing, status=CANCELLED, finished_at=unit.now)

    async def resend_uncertain(self, unit: Unit, mailing_id: str) -> Record:
        """On purpose only: some of them may have got the email already."""
        mailing = await _mailing(unit, mailing_id)
        if mailing["status"] == CANCELLED:
            raise _has_ended(CANCELLED)
        unit.refuse_if_read_only()
        key = {"tenant": unit.tenant_id, "mailing": mailing_id, "now": unit.now}
        number = await unit.execute(self._reopen, key, slow=True)
        if not number:
            raise WrongState(NONE_UNCERTAIN)
        status = SENDING if mailing["status"] in ENDED else mailing["status"]
        left = max(mailing["uncertain"] - number, 0)
        return await _set(unit, mailing, status=status, uncertain=left, reason="", finished_at="")

    async def _check_may_go_on(self, unit: Unit, mailing: Record) -> None:
        """Raises WrongState or PlanTooSmall."""
        unit.refuse_if_read_only()
        if mailing["started_at"] and not await self._starting.recipients.has_open(
            unit, mailing["id"]
        ):
            raise _has_ended(mailing["status"])
        if has_reached_nobody(mailing):
            # Then it does not count yet, and another one may have been sent since.
            if mailing["post_id"]:
                await self._starting.refuse_second(unit, mailing["post_id"], mailing["newsletter"])
            if mailing["started_at"] and mailing["kind"] != WELCOME:
                (await self._starting.quota(unit)).check(mailing["recipients"])


def _has_ended(status: str) -> WrongState:
    return WrongState(
        staff_words("The mailing has ended: it is %(status)s.", status=STATUS_WORDS[status])
    )


async def _set(unit: Unit, mailing: Record, **values: Any) -> Record:
    return await unit.update(mailings, mailing["id"], {}, stamped=values)


async def _mailing(unit: Unit, mailing_id: str) -> Record:
    return await unit.require(mailings, {"id": mailing_id}, missing="There is no such mailing.")


async def _open_mailing(unit: Unit, mailing_id: str) -> Record:
    mailing = await _mailing(unit, mailing_id)
    unit.refuse_if_read_only()
    if mailing["status"] in ENDED:
        raise _has_ended(mailing["status"])
    return mailing


class Trial(msgspec.Struct, frozen=True):
    """Which letter of a post is tried."""

    newsletter: str = MAIN_NEWSLETTER
    is_for_free: bool = False
    """The letter of free members, who may read less of it."""
    subject: str = ""
    """Empty: the post's title."""
    changes: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Values of the post that are not stored yet."""


WHOLE_LETTER: Final = Trial()


class TestLetters(msgspec.Struct, frozen=True):
    """One copy of a post's email to someone of the staff. Drafts are allowed."""

    __test__ = False  # no class of tests, whatever its name

    records: Records
    outbox: Outbox
    senders: Senders

    async def draw(
        self, tenant_id: TenantId, post_id: str, to: str, trial: Trial = WHOLE_LETTER
    ) -> RenderedMail:
        """Takes a while. Raises Invalid."""
        find = partial(self.records.find, tenant_id=tenant_id)
        posts_found = await find(posts, {"id": post_id})
        problems = {} if posts_found else {"post_id": NO_POST}
        if not await find(superusers, {"email": to}):
            problems["to"] = NO_STAFF
        listed = await find(newsletters, {"slug": trial.newsletter})
        if not listed:
            problems["newsletter"] = NO_NEWSLETTER
        if problems:
            raise Invalid(problems)
        [newsletter] = listed
        site, post = await self.senders.sites.of(tenant_id), {**posts_found[0], **trial.changes}
        letter = await draw_letter(
            self.records,
            tenant_id=tenant_id,
            site=site,
            newsletter=newsletter,
            post=post,
            reader=Reader(Audience.FREE) if trial.is_for_free else reader_of_all(post),
            subject=f"[Test] {trial.subject or post['title']}"[:MAX_SUBJECT],
        )
        return await self.senders.copy(tenant_id, newsletter, letter, to)

    async def queue(self, unit: Unit, rendered: RenderedMail) -> None:
        refuse_sending(unit.caller, unit.tenant.site.settings)
        unit.refuse_if_read_only()
        await self.outbox.queue_rendered(unit, rendered, "newsletter_test")
