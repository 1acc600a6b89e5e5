"""Access that a member is given: complimentary, or as a gift. The member is paid until a time, also
without a subscription, and a subscription that runs longer goes on."""

from __future__ import annotations

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.errors import Invalid, Problem
from masthead.base.ids import TenantId
from masthead.base.languages.words import staff_words
from masthead.engine.records.collection import Record
from masthead.engine.records.due_records import work_off_due
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit
from masthead.features.members.collection import blog_members
from masthead.features.payments.memberships import settle_member, state_row, subscriptions_of
from masthead.features.payments.subscription_state import GivenAccess, states_of

BATCH = 100
_PAST = Problem("validation_invalid_date", staff_words("Must be in the future."))


async def give_access(unit: Unit, member_id: str, *, until: str, tier_id: str = "") -> Record:
    """Replaces what the member was given before. Without a tier they read what every paid member
    may."""
    if until <= unit.now:
        raise Invalid({"access_until": _PAST})
    return await settle_member(unit, member_id, GivenAccess(until, tier_id))


async def end_access(unit: Unit, member_id: str) -> Record:
    """Leaves what the member pays for."""
    return await settle_member(unit, member_id, GivenAccess(unit.now))


async def has_subscription(unit: Unit, member_id: str) -> bool:
    """Whether a subscription makes the member paid."""
    rows = await subscriptions_of(unit, member_id)
    return any(each.tier == "paid" for each in states_of(map(state_row, rows)))


async def end_due(records: Records, *, batch_size: int = BATCH) -> None:
    """Ends all access whose time is over, in batches."""
    now = records.clock()

    async def end(tenant_id: TenantId, member_ids: list[str]) -> None:
        async with records.unit(system(tenant_id)) as unit:
            for member_id in member_ids:
                # Another worker may have ended it, or staff have given more time.
                found = await unit.find_one(blog_members, {"id": member_id})
                if found and "" < found["access_until"] <= clock.to_text(now):
                    await end_access(unit, member_id)

    await work_off_due(records, blog_members, "access_until", now, work=end, at_once=batch_size)
