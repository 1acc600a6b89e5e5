"""The email with the code of a gift, to the person whom the buyer named or to the buyer."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from masthead.base.caller import system
from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit
from masthead.features.commerce.collection import MAIL_GIFT, MEMBERSHIP, gift_cards
from masthead.features.members.collection import blog_members
from masthead.features.payments.collection import tiers
from masthead.features.site.address import Site, Sites
from masthead.outside.mail.emails import write_email
from masthead.outside.mail.message import Mail
from masthead.outside.mail.outbox import Outbox

REDEEM = "/member/redeem"


def handlers(records: Records, outbox: Outbox, sites: Sites) -> Mapping[str, Handler]:
    async def mail(job: Job) -> None:
        """The email and the mark that it was sent commit together, so that a job that runs twice
        sends one."""
        site = await sites.of(job.tenant_id)
        async with records.unit(system(job.tenant_id)) as unit:
            card = await unit.find_one(gift_cards, {"id": job.payload["gift_card_id"]})
            if card is None or not _is_waiting(card):
                return
            if card["send_on"] > unit.now:
                # Another time, or the clock was put back since the job was claimed.
                await unit.enqueue(MAIL_GIFT, job.payload, card["send_on"])
                return
            to = card["email"] or card["buyer_email"]
            member = await unit.find_one(blog_members, {"email": to})
            own = site.for_member(member) if member else site
            await outbox.queue(unit, await _compose(unit, card, own))
            await unit.update(gift_cards, card["id"], {}, stamped={"sent_at": unit.now})

    return {MAIL_GIFT: mail}


def _is_waiting(card: Record) -> bool:
    if card["kind"] != MEMBERSHIP or not (card["email"] or card["buyer_email"]):
        return False
    is_over = card["sent_at"] or card["redeemed"] or card["voided_at"]
    return bool(card["send_on"] and not is_over)


async def _compose(unit: Unit, card: Record, site: Site) -> Mail:
    tier = await unit.find_one(tiers, {"id": card["tier_id"]}) if card["tier_id"] else None
    return write_email(
        "gift_given" if card["email"] else "gift_bought",
        site,
        card["email"] or card["buyer_email"],
        tier=tier["name"] if tier else "",
        months=card["months"],
        buyer=card["buyer_email"],
        code=card["code"],
        link=f"{site.url}{REDEEM}?{urlencode({'code': card['code']})}",
    )
