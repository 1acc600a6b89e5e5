"""Makes a mailing and starts it: its recipients are fixed in the transaction that starts it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec
import sqlalchemy as sa

from masthead.base import clock
from masthead.base.errors import Invalid, PlanTooSmall, Problem, WrongState
from masthead.base.ids import TenantId
from masthead.base.languages.formats import Numeral
from masthead.base.languages.words import marked, staff_words, words
from masthead.content.texts.publication import PUBLISHED
from masthead.engine.records.collection import Record
from masthead.engine.records.write.unit import Unit
from masthead.features.mailings.audience import whose_language
from masthead.features.mailings.collection import (
    CANCELLED,
    ENDED,
    EVERYONE,
    FAILED,
    POST,
    SCHEDULED,
    SENDING,
    STATUS_WORDS,
    WELCOME,
    mailings,
)
from masthead.features.mailings.staging import Recipients
from masthead.features.mailings.tables import IS_OPEN, RecipientState, mailing_recipients
from masthead.features.members.newsletters import newsletters
from masthead.features.posts.collection import posts
from masthead.features.site.collection import MAIN_NEWSLETTER, site_settings
from masthead.identity.limits.plans import Plan
from masthead.identity.tenants import tenants
from masthead.storage.database import Database, scope_of
from masthead.storage.dialects import not_empty

MAILS_PER_MONTH: Final[Mapping[Plan, int | None]] = {
    Plan.FREE: 500,
    Plan.PRO: 50_000,
    Plan.BUSINESS: 500_000,
    Plan.AGENCY: None,
    Plan.ENTERPRISE: None,
}
"""Recipients in a month (UTC); None is no limit."""

NO_POST = Problem("validation_missing_rel_records", "Must be the id of a post of this site.")
NO_NEWSLETTER = Problem(
    "validation_unknown_newsletter", staff_words("The site has no newsletter with this slug.")
)
NO_READERS = Problem(
    "validation_no_recipients",
    words("Nobody would get it: choose another audience or other labels."),
)
PAST = Problem(
    "validation_past_date", staff_words("Must be in the future. Leave it out to send now.")
)
DRAFT = (
    "The post is a draft. Publish it first, or send `scheduled_for`: it is then sent at that "
    "time, or when it is published, if that is later."
)


NOTHING_TO_SEND = marked("The post or the newsletter was deleted.")


class Quota(msgspec.Struct, frozen=True):
    limit: int | None
    used: int

    def check(self, recipients: int) -> None:
        if self.limit is None or self.used + recipients <= self.limit:
            return
        left = max(self.limit - self.used, 0)
        raise PlanTooSmall(
            words(
                "The plan includes %(limit)s recipients a month, of which %(left)s are left; this "
                "mailing has %(recipients)s. The operator sets the plan.",
                limit=Numeral(self.limit),
                left=Numeral(left),
                recipients=Numeral(recipients),
            )
        )


class Starting:
    """Its methods run in the caller's unit, which holds the site's write lock."""

    def __init__(
        self,
        database: Database,
        tables: Mapping[str, sa.Table],
        recipients: Recipients | None = None,
    ) -> None:
        self._database = database
        self.recipients = recipients or Recipients(database, tables)
        m = tables[mailings.name].c
        r = mailing_recipients.c
        may_have_reached = sa.or_(m.status.not_in((CANCELLED, FAILED)), m.sent > 0, m.uncertain > 0)
        self._used = database.compile(
            sa.select(sa.func.coalesce(sa.func.sum(m.recipients), 0)).where(
                m.tenant_id == sa.bindparam("tenant"),
                not_empty(m.started_at),
                m.started_at >= sa.bindparam("since"),
                # Who joins decides how many those are, not the site.
                m.kind != WELCOME,
                may_have_reached,
            )
        )
        # An email that was being handed over when the mailing was cancelled may have left.
        is_leaving = sa.exists().where(
            r.tenant_id == m.tenant_id,
            r.mailing_id == m.id,
            r.state == RecipientState.HANDING_OVER.value,
            IS_OPEN,
        )
        self._standing = database.compile(
            sa.select(m.id, m.status)
            .where(
                m.tenant_id == sa.bindparam("tenant"),
                m.post_id == sa.bindparam("post", required=True),
                m.newsletter == sa.bindparam("slug", required=True),
                sa.or_(may_have_reached, is_leaving),
            )
            .limit(sa.literal_column("1"))
        )

    async def create(self, unit: Unit, given: Mapping[str, Any]) -> Record:
        """Raises Invalid, WrongState, PlanTooSmall or Forbidden."""
        unit.refuse_if_read_only()
        slug = given.get("newsletter") or MAIN_NEWSLETTER
        post, newsletter = await self._check_given(unit, given, slug)
        scheduled_for = given.get("scheduled_for") or ""
        if scheduled_for and scheduled_for <= unit.now:
            raise Invalid({"scheduled_for": PAST})
        if not scheduled_for and not _is_published(post, unit.now):
            raise WrongState(DRAFT)
        values = {
            "post_id": post["id"],
            "newsletter": slug,
            "opens": 0 if newsletter["count_opens"] else None,
            "clicks": 0 if newsletter["count_clicks"] else None,
            "subject": given.get("subject") or _subject_of(post),
            "audience": given.get("audience") or EVERYONE,
            "labels": given.get("labels") or [],
            "scheduled_for": scheduled_for,
            "status": SCHEDULED,
            **whose_language(post, await unit.require(site_settings, {})),
        }
        quota = await self.quota(unit)
        mailing = await unit.create(mailings, {}, stamped=values)
        number = await self.recipients.count(unit, mailing)
        # An error takes back all that was written.
        _check(quota, number)
        if scheduled_for or number > self.recipients.at_once:
            return mailing
        return await self._start(unit, mailing, await self.recipients.write(unit, mailing))

    async def start_due(self, unit: Unit, mailing_id: str) -> None:
        """Starts a scheduled one, if its time has come and its post is published."""
        mailing = await unit.find_one(mailings, {"id": mailing_id})
        if not mailing or mailing["status"] != SCHEDULED or mailing["scheduled_for"] > unit.now:
            return
        if mailing["kind"] == POST:
            post = await unit.find_one(posts, {"id": mailing["post_id"]})
            if not post:
                await self._end(unit, mailing_id, NOTHING_TO_SEND)
                return
            if not _is_published(post, unit.now):
                return
        number = await self.recipients.settle(unit, mailing)
        if number is None:
            number = await self.recipients.write(unit, mailing)
        try:
            _check(await self.quota(unit), number)
        except (Invalid, PlanTooSmall) as error:
            await self.recipients.discard(unit, mailing)
            reason = str(error) if isinstance(error, PlanTooSmall) else NO_READERS.message
            await self._end(unit, mailing_id, reason)
        else:
            await self._start(unit, mailing, number)

    async def welcome(self, unit: Unit, text: Record, member_id: str) -> None:
        """Adds a new member to the mailing of this welcome email, which has no end. Repeated, it
        changes nothing."""
        found = await unit.find_one(mailings, {"welcome": text["kind"]})
        mailing = found or await self._begin_welcome(unit, text)
        if not await self.recipients.welcome(unit, mailing, member_id):
            return
        values = {"recipients": mailing["recipients"] + 1, "subject": text["subject"]}
        if mailing["status"] in ENDED:
            # The reason of a failure stays, so that the owner is not told of it again.
            values |= {"status": SENDING, "finished_at": ""}
        await unit.update(mailings, mailing["id"], {}, stamped=values)

    async def _begin_welcome(self, unit: Unit, text: Record) -> Record:
        values = {
            "kind": WELCOME,
            "welcome": text["kind"],
            "newsletter": MAIN_NEWSLETTER,
            "audience": text["kind"],
            "subject": text["subject"],
            "status": SENDING,
            "started_at": unit.now,
        }
        return await unit.create(mailings, {}, stamped=values)

    async def _end(self, unit: Unit, mailing_id: str, reason: str) -> None:
        ended = {"status": FAILED, "reason": reason, "finished_at": unit.now}
        await unit.update(mailings, mailing_id, {}, stamped=ended)

    async def quota(self, unit: Unit) -> Quota:
        [tenant] = await unit.find(tenants, {"id": unit.tenant_id}, limit=1)
        own = tenant["mails_per_month"]
        limit = MAILS_PER_MONTH[Plan(tenant["plan"])] if own is None else own
        since = month_of(clock.from_text(unit.now))
        ((used,),) = await unit.fetch(self._used, {"tenant": unit.tenant_id, "since": since})
        return Quota(limit, int(used))

    async def preview(self, tenant_id: TenantId, mailing: Mapping[str, Any]) -> int:
        """How many would get it now, for a page: nobody who writes has to wait for it."""
        statement = self.recipients.number(mailing)
        bound = statement(self.recipients.values(tenant_id, mailing))
        ((number,),) = await self._database.fetch(scope_of(tenant_id), *bound, slow=True)
        return int(number)

    async def _check_given(
        self, unit: Unit, given: Mapping[str, Any], newsletter: str
    ) -> tuple[Record, Record]:
        """The post and the newsletter."""
        problems = {}
        listed = await unit.find_one(newsletters, {"slug": newsletter})
        if listed:
            # Before the post, whose text may be long, is read.
            await self.refuse_second(unit, given["post_id"], newsletter)
        else:
            problems["newsletter"] = NO_NEWSLETTER
        found = await unit.find_one(posts, {"id": given["post_id"]})
        if not found:
            problems["post_id"] = NO_POST
        if not found or not listed:
            raise Invalid(problems)
        return found, listed

    async def refuse_second(self, unit: Unit, post_id: str, newsletter: str) -> None:
        """A post is mailed to a newsletter once. A mailing that ended before anyone got it does not
        count. Raises WrongState."""
        values = {"tenant": unit.tenant_id, "post": post_id, "slug": newsletter}
        for mailing_id, status in await unit.fetch(self._standing, values):
            raise WrongState(
                staff_words(
                    "This post was already sent to the newsletter %(newsletter)s: the mailing "
                    "%(mailing)s is %(status)s.",
                    newsletter=newsletter,
                    mailing=mailing_id,
                    status=STATUS_WORDS[status],
                )
            )

    async def _start(self, unit: Unit, mailing: Record, number: int) -> Record:
        started = {"status": SENDING, "recipients": number, "started_at": unit.now}
        return await unit.update(mailings, mailing["id"], {}, stamped=started)


def _check(quota: Quota, recipients: int) -> None:
    if not recipients:
        raise Invalid({"audience": NO_READERS})
    quota.check(recipients)


def month_of(moment: datetime) -> str:
    """Its first moment."""
    first = moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return clock.to_text(first)


def _is_published(post: Record, now: str) -> bool:
    return bool(post["status"] == PUBLISHED and "" < post["published_at"] <= now)


def _subject_of(post: Record) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in post["title"]).split())
