"""New members are welcomed once, by the site's own email, whatever happens in between."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from tests.importers.write.exports import WrittenExport, imported
from tests.mailings.conftest import Press
from tests.world import records_of

from masthead.background import job_handlers
from masthead.caller import system
from masthead.identity.sign_ins import Client
from masthead.identity.tenants import tenants
from masthead.importers.source import SourceMember
from masthead.jobs.runner import Job
from masthead.mailings.welcome_emails import welcome_emails
from masthead.members.collection import MAILS, blog_members
from masthead.members.mailed_links import Purpose, Wanted
from masthead.members.welcome import SEND_WELCOME
from masthead.records.collection import Record

WELCOME = records_of("welcome_emails")
TEXT = "Hello, *and welcome*.\n\n[Read on](/about)\n\n<script>alert(1)</script>"


async def turn_on(press: Press, *kinds: str, **values: Any) -> None:
    for kind in kinds:
        given = {"kind": kind, "is_on": True, "subject": f"Welcome, {kind} reader", "text": TEXT}
        await press.tenant.create("welcome_emails", given | values)


async def join(press: Press, email: str = "ada@example.com", **stamped: Any) -> Record:
    """As one whose address is confirmed."""
    return await press.world.parts.records.create(
        system(press.tenant.id),
        blog_members,
        {"email": email},
        stamped={"verified": True, **stamped},
    )


def subjects(press: Press) -> list[str]:
    return [each["Subject"] for each in press.postbox.letters]


async def change(press: Press, member: Record, **values: Any) -> None:
    await press.tenant.update("blog_members", member["id"], values)


async def test_a_reader_who_confirms_their_address_is_welcomed(press: Press) -> None:
    await turn_on(press, "free", "paid")
    links = press.world.parts.links
    wanted = Wanted(Purpose.SIGN_UP, "ada@example.com", newsletter=True)
    await links.request(press.tenant.id, wanted, "127.0.0.1")
    await press.send()
    [asked] = press.postbox.letters
    token = re.search(r"token=([\w-]+)", asked.as_string().replace("=\n", "").replace("=3D", "="))
    assert token is not None
    await links.use(press.tenant.id, token[1], Client("127.0.0.1", ""))
    await press.send()
    assert subjects(press)[1:] == ["Welcome, free reader"]
    await press.send()
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
    await press.send()
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
    await press.send()
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
    await press.send()
    for tier in ("paid", "free", "paid", "free", "paid"):
        await change(press, member, tier=tier)
        await press.send()
    assert subjects(press) == ["Welcome, free reader", "Welcome, paid reader"]


async def test_who_pays_and_confirms_later_is_welcomed_then(press: Press) -> None:
    await turn_on(press, "free", "paid")
    member = await press.tenant.create("blog_members", {"email": "ada@example.com"})
    await change(press, member, tier="paid")
    await press.send()
    assert press.postbox.letters == []
    await change(press, member, verified=True)
    await press.send()
    assert subjects(press) == ["Welcome, paid reader"]


async def test_who_joined_while_it_was_off_gets_none_later(press: Press) -> None:
    member = await join(press)
    await change(press, member, tier="paid")
    await turn_on(press, "free", "paid")
    await change(press, member, tier="free")
    await change(press, member, tier="paid")
    await press.send()
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
    await press.send()
    assert press.postbox.letters == []


async def test_a_deleted_member_gets_none(press: Press) -> None:
    await turn_on(press, "free")
    member = await join(press)
    records = press.world.parts.records
    await records.delete(system(press.tenant.id), blog_members, member["id"])
    await press.send()
    assert press.postbox.letters == []


async def test_an_import_welcomes_nobody_at_once_or_at_the_first_sign_in(press: Press) -> None:
    await turn_on(press, "free", "paid")
    here = await join(press, "here@example.com")
    await press.send()
    press.postbox.letters.clear()
    readers = [
        SourceMember(email="free@example.com"),
        SourceMember(email="paid@example.com", tier="paid"),
        SourceMember(email="here@example.com", tier="paid"),
    ]
    await imported(press.tenant, WrittenExport(readers=readers))
    found = {
        each["email"]: each
        for each in await press.world.parts.records.find(
            blog_members, {}, tenant_id=press.tenant.id, limit=9
        )
    }
    assert found["here@example.com"]["tier"] == "paid"
    for each in ("free@example.com", "paid@example.com"):
        await change(press, found[each], verified=True)
    await press.send()
    assert press.postbox.letters == []
    await change(press, here, tier="free")
    await change(press, here, tier="paid")
    await change(press, found["free@example.com"], tier="paid")
    await press.send()
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
    await press.send()
    await handler(job)
    await press.send()
    assert subjects(press) == ["Welcome, free reader"]
    [logged] = await press.world.parts.records.find(
        press.world.collection(MAILS), {"member_id": member["id"]}, tenant_id=press.tenant.id
    )
    assert (logged["template"], logged["state"]) == ("welcome_email_free", "sent")


async def test_an_email_that_the_server_refuses_for_now_is_sent_later(press: Press) -> None:
    await turn_on(press, "free")
    await join(press)
    press.postbox.refusals.append("451 later")
    await press.send()
    assert press.postbox.letters == []
    press.world.clock.advance(hours=1)
    await press.send()
    assert subjects(press) == ["Welcome, free reader"]


async def test_a_suspended_site_sends_it_when_the_suspension_ends(press: Press) -> None:
    await turn_on(press, "free")
    await join(press)
    records, mine = press.world.parts.records, press.tenant.id
    await records.update(system(mine), tenants, mine, {}, stamped={"status": "suspended"})
    await press.send()
    assert press.postbox.letters == []
    await records.update(system(mine), tenants, mine, {}, stamped={"status": "active"})
    press.world.clock.advance(hours=2)
    await press.send()
    assert subjects(press) == ["Welcome, free reader"]


async def test_a_text_beyond_the_limits_of_markdown_is_sent_as_words(press: Press) -> None:
    await turn_on(press, "free", text=">" * 500 + " <b>deep</b>")
    await join(press)
    await press.send()
    [letter] = press.postbox.letters
    assert "deep" in letter.get_body(("plain",)).get_content()


async def test_owners_edit_the_texts_and_nobody_else_sees_them(press: Press) -> None:
    owner, editor = await press.tenant.owner(), await press.tenant.owner(role="editor")
    given = {"kind": "free", "is_on": True, "subject": "Hello", "text": "Hello"}
    assert (await owner.api.post(WELCOME, json=given)).status_code == 200
    assert (await owner.api.post(WELCOME, json=given)).status_code == 400
    for wrong in ({"subject": "a\r\nBcc: b@example.com"}, {"text": ""}, {"kind": "rich"}):
        answer = await owner.api.post(WELCOME, json=given | {"kind": "paid"} | wrong)
        assert answer.status_code == 400, wrong
    assert (await editor.api.get(WELCOME)).status_code == 403
    found = await press.world.parts.records.find(welcome_emails, {}, tenant_id=press.tenant.id)
    assert len(found) == 1
