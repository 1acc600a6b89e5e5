"""Who got a mailing, by what became of it, and the readers of a newsletter by counters."""

from __future__ import annotations

import pytest
from tests.features.mailings.conftest import Press
from tests.world import World

from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.engine.records.filter.conditions import all_of, equals, has_item
from masthead.features.mailings.recipients import PAGED, Fate, MailingRecipients
from masthead.features.mailings.reports import Report
from masthead.features.members.collection import (
    NO_LONGER_SUBSCRIBED,
    SUBSCRIBED,
    TURNED_OFF,
    TURNED_ON,
    blog_members,
)
from masthead.storage.database import Statement, scope_of


def read(world: World) -> MailingRecipients:
    return world.parts.mailings.recipients


async def fates(press: Press, mailing_id: str, fate: Fate | None) -> dict[str, str]:
    found = await read(press.world).page(press.tenant.id, mailing_id, fate, "", limit=50)
    return {each.email: each.reply for each in found}


async def test_recipients_are_found_by_what_became_of_them(press: Press) -> None:
    kept, refused, leaving, spammed = await press.readers(4)
    post = await press.tenant.published(title="Tides")
    mailing = await press.mail(post)
    press.postbox.unknown.add(refused["email"])
    await press.tenant.update("blog_members", leaving["id"], {"newsletter": False})
    waiting = await read(press.world).waiting(press.tenant.id, mailing["id"], 3)
    assert [each.fate for each in waiting] == [Fate.WAITING] * 3
    await press.send()
    name = f"{mailing['id']}.{spammed['id']}.{press.tenant.id}@example.com"
    reports = press.world.parts.mailings.reports
    await reports.take(Report("complained", spammed["email"], message_id=f"<{name}>"))
    by_fate = {fate: await fates(press, mailing["id"], fate) for fate in PAGED}
    assert set(by_fate[Fate.SENT]) == {kept["email"], spammed["email"]}
    [words] = by_fate[Fate.FAILED].values()
    assert words.startswith("550")
    assert set(by_fate[Fate.BOUNCED]) == {refused["email"]}
    assert set(by_fate[Fate.COMPLAINED]) == {spammed["email"]}
    assert set(by_fate[Fate.UNSUBSCRIBED]) == {leaving["email"]}
    assert await read(press.world).waiting(press.tenant.id, mailing["id"], 3) == []
    assert len(await fates(press, mailing["id"], None)) == 4
    [own] = await read(press.world).of_member(press.tenant.id, refused["id"], 20)
    assert (own.subject, own.fate, own.reply) == ("Tides", Fate.BOUNCED, words)


async def test_pages_follow_one_another_and_other_sites_have_none(press: Press) -> None:
    await press.readers(5)
    mailing = await press.mail(await press.tenant.published(title="Tides"))
    found: list[str] = []
    while page := await read(press.world).page(
        press.tenant.id, mailing["id"], None, found[-1] if found else "", limit=2
    ):
        found += [each.member_id for each in page]
    assert len(set(found)) == len(found) == 5
    other = await press.world.new_tenant("inland")
    assert await read(press.world).page(other.id, mailing["id"], None, "", limit=50) == []
    assert await read(press.world).among(other.id, mailing["id"], found) == []
    assert await read(press.world).of_member(other.id, found[0], 50) == []


@pytest.mark.parametrize("service", ["sqlite"], indirect=True)
@pytest.mark.parametrize("fate", [Fate.FAILED, Fate.UNCERTAIN, Fate.BOUNCED])
async def test_the_few_are_read_from_an_index_of_their_own(app: World, fate: Fate) -> None:
    database = app.parts.database
    statement = read(app)._pages[fate]
    explain = Statement(
        f"EXPLAIN QUERY PLAN {statement.text}", statement.names, statement.constants
    )
    values = {"tenant": "t", "mailing": "m", "after": "", "limit": 50}
    rows = await database.fetch(scope_of(TenantId("t")), explain, explain.bind(values))
    assert "ix_mailing_recipients__" in rows[0][3]


async def test_readers_of_a_newsletter_are_counted_as_they_come_and_go(press: Press) -> None:
    first, second, third = await press.readers(3)
    update = press.tenant.update
    await update("blog_members", first["id"], {"newsletters_off": ["tides"]})
    await update("blog_members", second["id"], {"newsletters_off": ["tides"]})
    await update("blog_members", second["id"], {"newsletters_off": []})
    await update("blog_members", third["id"], {"newsletter": False})
    counts = press.world.parts.records.counts
    off = all_of([has_item("newsletters_off", "tides"), equals("newsletter", True)])
    assert off is not None
    owner = system(press.tenant.id)
    assert await counts.total(owner, blog_members, off) == 1
    metrics = (SUBSCRIBED, NO_LONGER_SUBSCRIBED, TURNED_ON, TURNED_OFF)
    by_day = await counts.by_day(owner, blog_members, metrics, "2000-01-01", subjects=("", "tides"))
    totals = {key: sum(days.values()) for key, days in by_day.items() if any(days.values())}
    assert totals == {
        (SUBSCRIBED, ""): 3,
        (NO_LONGER_SUBSCRIBED, ""): 1,
        (TURNED_OFF, "tides"): 2,
        (TURNED_ON, "tides"): 1,
    }
    await update("blog_members", first["id"], {"status": "cancelled"})
    by_day = await counts.by_day(
        owner, blog_members, (TURNED_ON,), "2000-01-01", subjects=("tides",)
    )
    assert sum(by_day[TURNED_ON, "tides"].values()) == 2
