"""Recipients that are too many for one transaction are staged; the one that starts the mailing
still decides who gets it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from tests.faces.admin.visitor import staff
from tests.features.mailings.conftest import Press
from tests.v1.keys import key_client
from tests.world import World

from masthead.base.caller import system
from masthead.engine.records.collection import Record
from masthead.features.mailings.collection import mailings
from masthead.features.mailings.staging import Recipients, stage_many
from masthead.features.mailings.starting import Starting
from masthead.features.members.collection import blog_members
from masthead.service.background import mailing_worker
from masthead.service.schema import tables


@pytest.fixture
async def press(press: Press) -> Press:
    """The press of a service that writes three recipients at once, in batches of two."""
    parts = press.world.parts
    recipients = Recipients(parts.database, tables, at_once=3, batch=2)
    starting = Starting(parts.database, tables, recipients)
    world = World(
        msgspec.structs.replace(
            parts, mailings=msgspec.structs.replace(parts.mailings, starting=starting)
        ),
        press.world.clock,
    )
    tenant = replace(press.tenant, world=world)
    api = await key_client(tenant, "mailings:read", "mailings:write")
    return replace(press, world=world, tenant=tenant, api=api)


async def stage(press: Press, mailing: dict[str, Any]) -> None:
    parts = press.world.parts
    await stage_many(
        parts.records, parts.mailings.starting.recipients, press.tenant.id, mailing["id"]
    )


async def stage_batch(press: Press, mailing: dict[str, Any]) -> None:
    async with press.world.parts.records.unit(system(press.tenant.id)) as unit:
        (found,) = await unit.find(mailings, {"id": mailing["id"]}, limit=1)
        await press.world.parts.mailings.starting.recipients.stage(unit, found)


def names(members: list[Record]) -> list[str]:
    return sorted(each["email"] for each in members)


async def test_many_recipients_are_written_before_the_mailing_starts(press: Press) -> None:
    members = await press.readers(7)
    mailing = await press.mail(await press.tenant.published())
    assert (mailing["status"], mailing["recipients"]) == ("scheduled", 0)
    await stage(press, mailing)
    assert len(await press.recipients(mailing)) == 7
    assert await press.send() == 7
    state = await press.state(mailing)
    assert (state["status"], state["recipients"], state["sent"]) == ("sent", 7, 7)
    assert sorted(press.addresses) == names(members)


async def test_the_admin_shows_it_meanwhile(press: Press) -> None:
    await press.readers(4)
    post = await press.tenant.published()
    mailing = await press.mail(post)
    owner, _ = await staff(press.tenant, "owner")
    assert (await owner.get("/admin/mailings")).status_code == 200
    shown = (await owner.get(f"/admin/mailings/{mailing['id']}")).text
    assert "Its list of recipients is being written" in shown
    assert "It is being emailed to" in (await owner.get(f"/admin/posts/{post['id']}/mail")).text


async def test_few_start_at_once(press: Press) -> None:
    await press.readers(3)
    mailing = await press.mail(await press.tenant.published())
    assert (mailing["status"], mailing["recipients"]) == ("sending", 3)


async def test_who_changes_meanwhile_is_a_recipient_or_not_as_at_the_start(press: Press) -> None:
    members = await press.readers(6, labels=["coast"])
    mailing = await press.mail(await press.tenant.published(), labels=["coast"])
    await stage(press, mailing)
    press.world.clock.advance(minutes=1)
    left, gone, off = members[:3]
    await press.tenant.update("blog_members", left["id"], {"labels": []})
    await press.world.parts.records.delete(system(press.tenant.id), blog_members, gone["id"])
    await press.tenant.update("blog_members", off["id"], {"newsletter": False})
    joined = await press.readers(2, "joined", labels=["coast"])
    await press.send()
    state = await press.state(mailing)
    # Who was deleted is one of the recipients who got none.
    assert (state["recipients"], state["sent"], state["unsubscribed"]) == (6, 5, 1)
    assert sorted(press.addresses) == names([*members[3:], *joined])


async def test_a_worker_that_died_while_staging_leaves_nobody_out(press: Press) -> None:
    members = await press.readers(7)
    mailing = await press.mail(await press.tenant.published())
    await stage_batch(press, mailing)
    assert len(await press.recipients(mailing)) == 2
    # Another one starts it as if all were there.
    async with press.world.parts.records.unit(system(press.tenant.id)) as unit:
        await press.world.parts.mailings.starting.start_due(unit, mailing["id"])
    await mailing_worker(press.world.parts).run_due()
    assert sorted(press.addresses) == names(members)


async def test_a_mailing_that_has_started_gets_no_further_recipients(press: Press) -> None:
    await press.readers(5)
    mailing = await press.mail(await press.tenant.published())
    await press.send()
    await press.readers(4, "late")
    await stage(press, mailing)
    assert len(await press.recipients(mailing)) == 5


async def test_over_the_quota_nothing_is_kept(press: Press) -> None:
    await press.readers(5)
    mailing = await press.mail(await press.tenant.published())
    await press.tenant.update("tenants", press.tenant.id, {"mails_per_month": 4})
    await press.send()
    state = await press.state(mailing)
    assert (state["status"], state["recipients"]) == ("failed", 0)
    assert await press.recipients(mailing) == {}
    assert press.addresses == []
