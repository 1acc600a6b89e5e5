"""New members are welcomed once, by the site's own email, whatever happens in between."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from tests.faces.admin.visitor import staff
from tests.faces.importers.write.exports import WrittenExport, imported
from tests.features.mailings.conftest import Press
from tests.world import records_of

from masthead.base.caller import system
from masthead.engine.jobs.runner import Job
from masthead.engine.records.collection import Record
from masthead.faces.importers.source import SourceMember
from masthead.features.mailings.collection import mailings
from masthead.features.mailings.queue import RecipientQueue
from masthead.features.mailings.welcome_emails import welcome_emails
from masthead.features.members.collection import blog_members
from masthead.features.members.sign_up import EmailRequest, Purpose
from masthead.features.members.welcome import SEND_WELCOME
from masthead.identity.sign_ins import Client
from masthead.identity.tenants import tenants
from masthead.service.background import job_handlers, job_runner, mailing_worker
from masthead.service.schema import tables

WELCOME = records_of("welcome_emails")
TEXT = (
    '<p>Hello, <em>and welcome</em>.</p><p><a href="/about">Read on</a></p>'
    "<script>alert(1)</script>"
)


async def turn_on(press: Press, *kinds: str, **values: Any) -> None:
    for kind in kinds:
        given = {"kind": kind, "is_on": True, "subject": f"Welcome, {kind} reader"}
        given["content_html"] = TEXT
        await press.tenant.create("welcome_emails", given | values)


async def join(press: Press, email: str = "ada@example.com", **stamped: Any) -> Record:
    """As one whose address is confirmed."""
    return await press.world.parts.records.create(
        system(press.tenant.id),
        blog_members,
        {"email": email},
        stamped={"verified": True, **stamped},
    )


async def send(press: Press) -> None:
    """The job that adds a member, then the worker that sends."""
    await press.send()
    await press.send()


async def add_waiting(press: Press) -> None:
    """Only the jobs."""
    runner = job_runner(press.world.parts)
    while await runner.run_due():
        pass


async def mailing_of(press: Press, kind: str = "free") -> Record:
    [found] = await press.world.parts.records.find(
        mailings, {"welcome": kind}, tenant_id=press.tenant.id
    )
    return found


def subjects(press: Press) -> list[str]:
    return [each["Subject"] for each in press.postbox.letters]


async def change(press: Press, member: Record, **values: Any) -> None:
    await press.tenant.update("blog_members", member["id"], values)


async def test_a_reader_who_confirms_their_address_is_welcomed(press: Press) -> None:
    await turn_on(press, "free", "paid")
    links = press.world.parts.members.links
    wanted = EmailRequest(Purpose.SIGN_UP, "ada@example.com", newsletter=True)
    await links.request(press.tenant.id, wanted, "127.0.0.1")
    await send(press)
    [asked] = press.postbox.letters
    token = re.search(r"token=([\w-]+)", asked.as_string().replace("=\n", "").replace("=3D", "="))
    assert token is not None
    await links.use(press.tenant.id, token[1], Client("127.0.0.1", ""))
    await send(press)
    assert subjects(press)[1:] == ["Welcome, free reader"]
    await send(press)
    assert len(press.postbox.letters) == 2


async def test_the_email_has_the_newsletters_look_sender_and_footer(press: Press) -> None:
    parts = press.world.parts
    [main] = await parts.records.find(
        press.world.collection("newsletters"), {}, tenant_id=press.tenant.id
    )
    look = {"sender_name": "Nell", "reply_to": "desk@example.com", "footer": "1 Quay Street"}
    await press.tenant.update("newsletters", main["id"], look)
    await turn_on(press, "free")
    await join(press, name="Ada")
    await send(press)
    [letter] = press.postbox.letters
    assert letter["From"].startswith("Nell <")
    assert letter["Reply-To"] == "desk@example.com"
    assert letter["To"] == "Ada <ada@example.com>"
    assert letter["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    html = letter.get_body(("html",)).get_content()
    text = letter.get_body(("plain",)).get_content()
    for part in (html, text):
        assert "1 Quay Street" in part
        assert "because you joined coast" in " ".join(part.split())
        assert "because you subscribed" not in part
    assert "<em>and welcome</em>" in html
    assert "<script" not in html
    assert "/about" in text
    assert 'href="/about"' not in html


async def test_its_one_click_header_turns_newsletters_off(press: Press) -> None:
    await turn_on(press, "free")
    member = await join(press, newsletter=True)
    await send(press)
    url = press.postbox.letters[0]["List-Unsubscribe"].strip("<>")
    answer = await press.tenant.guest.post(url, data={"List-Unsubscribe": "One-Click"})
    assert answer.status_code == 200, answer.text
    [now] = await press.world.parts.records.find(
        blog_members, {"id": member["id"]}, tenant_id=press.tenant.id
    )
    assert now["newsletter"] is False


async def test_a_member_who_pays_twice_is_welcomed_once(press: Press) -> None:
    await turn_on(press, "free", "paid")
    member = await join(press)
    await send(press)
    for tier in ("paid", "free", "paid", "free", "paid"):
        await change(press, member, tier=tier)
        await send(press)
    assert subjects(press) == ["Welcome, free reader", "Welcome, paid reader"]


async def test_who_pays_and_confirms_later_is_welcomed_then(press: Press) -> None:
    await turn_on(press, "free", "paid")
    member = await press.tenant.create("blog_members", {"email": "ada@example.com"})
    await change(press, member, tier="paid")
    await send(press)
    assert press.postbox.letters == []
    await change(press, member, verified=True)
    await send(press)
    assert subjects(press) == ["Welcome, paid reader"]


async def test_who_joined_while_it_was_off_gets_none_later(press: Press) -> None:
    member = await join(press)
    await change(press, member, tier="paid")
    await turn_on(press, "free", "paid")
    await change(press, member, tier="free")
    await change(press, member, tier="paid")
    await send(press)
    assert press.postbox.letters == []


@pytest.mark.parametrize(
    "values",
    [
        {"mail_state": "bounced"},
        {"mail_state": "complained"},
        {"status": "cancelled"},
        {"verified": False},
        {"tier": "paid"},
    ],
)
async def test_who_is_out_of_reach_when_it_would_leave_gets_none(
    press: Press, values: dict[str, Any]
) -> None:
    await turn_on(press, "free")
    member = await join(press)
    await change(press, member, **values)
    await send(press)
    assert press.postbox.letters == []


async def test_a_deleted_member_gets_none(press: Press) -> None:
    await turn_on(press, "free")
    member = await join(press)
    records = press.world.parts.records
    await records.delete(system(press.tenant.id), blog_members, member["id"])
    await send(press)
    assert press.postbox.letters == []


@pytest.mark.parametrize("emits_events", [False, True])
async def test_an_import_welcomes_nobody_at_once_or_at_the_first_sign_in(
    press: Press, emits_events: bool
) -> None:
    await turn_on(press, "free", "paid")
    here = await join(press, "here@example.com")
    await send(press)
    press.postbox.letters.clear()
    readers = [
        SourceMember(email="free@example.com"),
        SourceMember(email="paid@example.com", tier="paid"),
        SourceMember(email="here@example.com", tier="paid"),
    ]
    await imported(press.tenant, WrittenExport(readers=readers), emit_events=emits_events)
    found = {
        each["email"]: each
        for each in await press.world.parts.records.find(
            blog_members, {}, tenant_id=press.tenant.id, limit=9
        )
    }
    assert found["here@example.com"]["tier"] == "paid"
    for each in ("free@example.com", "paid@example.com"):
        await change(press, found[each], verified=True)
    await send(press)
    assert press.postbox.letters == []
    await change(press, here, tier="free")
    await change(press, here, tier="paid")
    await change(press, found["free@example.com"], tier="paid")
    await send(press)
    assert press.addresses[-1:] == ["free@example.com"]
    assert subjects(press) == ["Welcome, paid reader"]


async def test_a_job_that_runs_again_after_a_crash_sends_nothing_twice(press: Press) -> None:
    await turn_on(press, "free")
    member = await join(press)
    handler = job_handlers(press.world.parts)[SEND_WELCOME]
    job = Job(
        press.tenant.id, "j" * 15, SEND_WELCOME, {"member_id": member["id"], "kind": "free"}, 1
    )
    await asyncio.gather(*(handler(job) for _ in range(3)))
    await send(press)
    await handler(job)
    await send(press)
    assert subjects(press) == ["Welcome, free reader"]
    mailing = await mailing_of(press)
    assert await press.recipients(mailing) == {member["id"]: ("sent", "")}
    assert [mailing[name] for name in ("status", "recipients", "sent")] == ["sent", 1, 1]


async def test_all_who_join_are_in_one_mailing_that_goes_on(press: Press) -> None:
    await turn_on(press, "free")
    for number in range(3):
        await join(press, f"reader{number}@example.com")
        await send(press)
    mailing = await mailing_of(press)
    assert [mailing[name] for name in ("kind", "status", "recipients", "sent")] == [
        "welcome",
        "sent",
        3,
        3,
    ]
    shown = await press.state(mailing)
    assert (shown["kind"], shown["post_id"]) == ("welcome", None)
    identities = {each["Message-ID"] for each in press.postbox.letters}
    assert len(identities) == 3
    assert all(each.startswith(f"<{mailing['id']}.") for each in identities)
    assert {each["List-Id"] for each in press.postbox.letters} == {f"<main.{press.tenant.host}>"}


async def test_two_workers_welcome_nobody_twice(press: Press) -> None:
    await turn_on(press, "free")
    for number in range(30):
        await join(press, f"reader{number}@example.com")
    await add_waiting(press)
    workers = [mailing_worker(press.world.parts) for _ in range(2)]
    await asyncio.gather(*(each.run_due() for each in workers))
    assert sorted(press.addresses) == sorted(f"reader{number}@example.com" for number in range(30))


async def test_a_welcome_whose_worker_died_is_uncertain_and_not_repeated(press: Press) -> None:
    await turn_on(press, "free")
    member = await join(press)
    await add_waiting(press)
    parts = press.world.parts
    died = RecipientQueue(parts.database, tables, parts.records.clock)
    [(key, whom)] = await died.due()
    claimed = await died.claim(key, whom, 10)
    marked, _ = await died.turn([], claimed)
    assert marked == {(key, member["id"])}
    await send(press)
    press.world.clock.advance(minutes=2)
    await send(press)
    mailing = await mailing_of(press)
    assert press.postbox.letters == []
    assert [mailing[name] for name in ("status", "uncertain")] == ["failed", 1]
    answer = await press.api.post(f"/api/v1/mailings/{mailing['id']}/resend-uncertain")
    assert answer.status_code == 202, answer.text
    await send(press)
    assert press.addresses == ["ada@example.com"]
    assert (await press.recipients(mailing))[member["id"]] == ("sent", "")


async def test_an_address_without_a_mailbox_is_stopped_and_counted(press: Press) -> None:
    await turn_on(press, "free")
    member = await join(press)
    press.postbox.unknown.add("ada@example.com")
    await send(press)
    mailing = await mailing_of(press)
    assert [mailing[name] for name in ("status", "failed", "bounced")] == ["failed", 1, 1]
    await send(press)
    [now] = await press.world.parts.records.find(
        blog_members, {"id": member["id"]}, tenant_id=press.tenant.id
    )
    assert now["mail_state"] == "bounced"


async def test_who_unsubscribes_before_it_leaves_gets_none(press: Press) -> None:
    await turn_on(press, "free")
    never, left = await join(press), await join(press, "left@example.com", newsletter=True)
    await add_waiting(press)
    await change(press, left, newsletter=False)
    await send(press)
    assert press.addresses == ["ada@example.com"]
    states = {
        member: state
        for member, (state, _) in (await press.recipients(await mailing_of(press))).items()
    }
    assert states == {never["id"]: "sent", left["id"]: "unsubscribed"}


async def test_turned_off_it_waits_until_it_is_on_again(press: Press) -> None:
    await turn_on(press, "free")
    await join(press)
    press.postbox.refusals.append("451 later")
    await send(press)
    [text] = await press.world.parts.records.find(welcome_emails, {}, tenant_id=press.tenant.id)
    await press.tenant.update("welcome_emails", text["id"], {"is_on": False})
    mailing = await mailing_of(press)
    assert mailing["status"] == "paused"
    owner, _ = await staff(press.tenant, "owner", language="de")
    page = (await owner.get(f"/admin/mailings/{mailing['id']}")).text
    assert "Die Begrüßungs-E‑Mail ist ausgeschaltet." in page
    press.world.clock.advance(hours=1)
    await send(press)
    assert press.postbox.letters == []
    changed = {"is_on": True, "subject": "Welcome at last"}
    await press.tenant.update("welcome_emails", text["id"], changed)
    await send(press)
    assert subjects(press) == ["Welcome at last"]


async def test_a_deleted_text_is_not_sent(press: Press) -> None:
    await turn_on(press, "free")
    await join(press)
    press.postbox.refusals.append("451 later")
    await send(press)
    [text] = await press.world.parts.records.find(welcome_emails, {}, tenant_id=press.tenant.id)
    await press.world.parts.records.delete(system(press.tenant.id), welcome_emails, text["id"])
    press.world.clock.advance(hours=1)
    await send(press)
    assert press.postbox.letters == []
    assert (await mailing_of(press))["status"] == "paused"


async def test_it_has_no_end_and_is_no_part_of_the_months_recipients(press: Press) -> None:
    await turn_on(press, "free")
    await join(press)
    mine = press.tenant.id
    await press.world.parts.records.update(
        system(mine), tenants, mine, {}, stamped={"mails_per_month": 0}
    )
    await send(press)
    assert press.addresses == ["ada@example.com"]
    async with press.world.parts.records.unit(system(mine)) as unit:
        assert (await press.world.parts.mailings.starting.quota(unit)).used == 0
    mailing = await mailing_of(press)
    await join(press, "second@example.com")
    await add_waiting(press)
    answer = await press.api.post(f"/api/v1/mailings/{mailing['id']}/cancel")
    assert answer.status_code == 409, answer.text
    assert await press.tenant.events() == []


async def test_an_email_that_the_server_refuses_for_now_is_sent_later(press: Press) -> None:
    await turn_on(press, "free")
    await join(press)
    press.postbox.refusals.append("451 later")
    await send(press)
    assert press.postbox.letters == []
    press.world.clock.advance(hours=1)
    await send(press)
    assert subjects(press) == ["Welcome, free reader"]


async def test_a_suspended_site_sends_it_when_the_suspension_ends(press: Press) -> None:
    await turn_on(press, "free")
    await join(press)
    records, mine = press.world.parts.records, press.tenant.id
    await records.update(system(mine), tenants, mine, {}, stamped={"status": "suspended"})
    await send(press)
    assert press.postbox.letters == []
    await records.update(system(mine), tenants, mine, {}, stamped={"status": "active"})
    press.world.clock.advance(hours=2)
    await send(press)
    assert subjects(press) == ["Welcome, free reader"]


@pytest.mark.parametrize("markdown", ["Hello *there*", ">" * 500 + " there"])
async def test_the_markdown_of_an_earlier_version_is_sent_until_it_is_edited(
    press: Press, markdown: str
) -> None:
    records, mine = press.world.parts.records, press.tenant.id
    given = {"kind": "free", "subject": "Hello"}
    text = await records.create(
        system(mine), welcome_emails, given, stamped={"text": markdown, "is_on": True}
    )
    await join(press)
    await send(press)
    [letter] = press.postbox.letters
    assert "there" in letter.get_body(("plain",)).get_content()
    assert ("<em>there</em>" in letter.get_body(("html",)).get_content()) == ("*" in markdown)
    await press.tenant.update("welcome_emails", text["id"], {"content_html": "<p>New</p>"})
    [now] = await records.find(welcome_emails, {}, tenant_id=mine)
    assert (now["text"], now["content_html"]) == ("", "<p>New</p>")


async def test_owners_edit_the_texts_and_nobody_else_sees_them(press: Press) -> None:
    owner, editor = await press.tenant.owner(), await press.tenant.owner(role="editor")
    given = {"kind": "free", "is_on": True, "subject": "Hello"}
    given["content_html"] = "<p>Hello</p>"
    assert (await owner.api.post(WELCOME, json=given)).status_code == 200
    assert (await owner.api.post(WELCOME, json=given)).status_code == 400
    for wrong in (
        {"subject": "a\r\nBcc: b@example.com"},
        {"content_html": "<p> </p>"},
        {"content_html": "x" * 100_001},
        {"kind": "rich"},
    ):
        answer = await owner.api.post(WELCOME, json=given | {"kind": "paid"} | wrong)
        assert answer.status_code == 400, wrong
    assert (await editor.api.get(WELCOME)).status_code == 403
    found = await press.world.parts.records.find(welcome_emails, {}, tenant_id=press.tenant.id)
    assert len(found) == 1
