"""A mailing goes out to a real mail server, and every recipient is accounted for."""

from __future__ import annotations

import asyncio
from email.message import EmailMessage
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.features.mailings.conftest import MAILINGS, Press
from tests.outside.mail.offices import text_of
from tests.waiting import until

from masthead.base.caller import system
from masthead.content.html import clean_texts
from masthead.features.mailings.collection import mailings
from masthead.features.mailings.queue import LEASE
from masthead.features.mailings.queue_statements import SITE_SUSPENDED
from masthead.features.members.collection import blog_members
from masthead.features.site.suspension import lift
from masthead.identity.tenants import TenantStatus, tenants
from masthead.service.background import mailing_worker

ENDED = ("sent", "failed", "uncertain", "unsubscribed")


def link_in(letter: EmailMessage, header: str = "List-Unsubscribe") -> str:
    parts = urlsplit(str(letter[header]).strip("<>"))
    return f"{parts.path}?{parts.query}"


async def shows(press: Press, mailing: dict[str, Any], name: str, value: object) -> bool:
    return bool((await press.state(mailing))[name] == value)


class TestWholeSend:
    async def test_every_reader_gets_one_email(self, press: Press) -> None:
        await press.readers(5)
        await press.readers(2, "off", newsletter=False)
        await press.readers(1, "left", status="cancelled")
        await press.readers(1, "dead", mail_state="bounced")
        await press.readers(1, "other", newsletters_off=["main"])
        post = await press.tenant.published(title="Tides", content_html="<p>High water.</p>")
        mailing = await press.mail(post)
        assert (mailing["status"], mailing["recipients"]) == ("sending", 5)
        assert await press.send() == 5
        assert sorted(press.addresses) == [f"reader{each}@example.com" for each in range(5)]
        state = await press.state(mailing)
        assert (state["status"], state["sent"], state["failed"]) == ("sent", 5, 0)
        assert state["finished_at"]
        assert state["opens"] is None
        assert await press.send() == 0
        names = await press.tenant.event_names()
        assert names.count("mailing.sent") == 1
        payload = dict((await press.tenant.events())[-1][1])
        assert {key: payload[key] for key in ("status", "recipients", "sent", "failed")} == {
            "status": "sent",
            "recipients": 5,
            "sent": 5,
            "failed": 0,
        }

    async def test_the_email(self, press: Press) -> None:
        await press.readers(1, name="Ada Łęcka")
        await press.tenant.settings(site_name="The Coast")
        found = await press.world.parts.records.find(
            press.world.collection("newsletters"), {}, tenant_id=press.tenant.id
        )
        values = {"sender_name": "Mira of the Coast", "reply_to": "mira@coast.example"}
        await press.tenant.update("newsletters", found[0]["id"], values)
        post = await press.tenant.published(title="Ebbe & Flut", content_html="<p>Größe: 3 m</p>")
        mailing = await press.mail(post)
        await press.send()
        (letter,) = press.postbox.letters
        assert letter["Subject"] == "Ebbe & Flut"
        assert letter["From"].addresses[0].display_name == "Mira of the Coast"
        assert letter["From"].addresses[0].addr_spec == "no-reply@localhost"
        assert letter["To"].addresses[0].display_name == "Ada Łęcka"
        assert letter["Reply-To"] == "mira@coast.example"
        assert letter["List-Id"] == f"<main.{press.tenant.host}>"
        assert letter["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
        assert letter["Message-ID"].startswith(f"<{mailing['id']}.")
        assert "Größe: 3 m" in text_of(letter)
        assert "Größe: 3 m" in text_of(letter, "html")
        assert "&newsletter=main" in text_of(letter)
        assert f"http://{press.tenant.host}/posts/" in text_of(letter)
        assert all(len(line) < 999 for line in letter.as_bytes().split(b"\n"))

    async def test_gated_text_is_for_paid_members(self, press: Press) -> None:
        await press.readers(1, "free")
        await press.readers(1, "paid", tier="paid")
        html = "<p>Opening.</p><!--members-only--><p>The rest.</p>"
        await press.mail(await press.tenant.published(visibility="paid", content_html=html))
        await press.send()
        texts = {each["To"]: text_of(each) for each in press.postbox.letters}
        assert "The rest." not in texts["free0@example.com"]
        assert "The rest." in texts["paid0@example.com"]

    async def test_a_text_that_is_clean_is_not_cleaned_again(
        self, press: Press, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await press.readers(1)
        await press.mail(await press.tenant.published(content_html="<p onclick='x'>Tides</p>"))

        def refuse(html: str) -> str:
            raise AssertionError(html)

        monkeypatch.setattr(clean_texts, "cleaned_or_plain_text", refuse)
        await press.send()
        assert "Tides" in text_of(press.postbox.letters[0])
        assert "onclick" not in text_of(press.postbox.letters[0], "html")

    async def test_more_recipients_than_a_slice(self, press: Press) -> None:
        await press.readers(230)
        mailing = await press.mail(await press.tenant.published())
        assert await press.send() == 230
        assert len(set(press.addresses)) == len(press.addresses) == 230
        assert (await press.state(mailing))["sent"] == 230

    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            ({"audience": "free"}, {"a0", "b0"}),
            ({"audience": "paid"}, {"c0"}),
            ({"labels": ["x", "y"]}, {"b0", "c0"}),
            ({"labels": ["x"], "audience": "free"}, {"b0"}),
        ],
    )
    async def test_audience_and_labels(
        self, press: Press, body: dict[str, object], expected: set[str]
    ) -> None:
        await press.readers(1, "a")
        await press.readers(1, "b", labels=["x", "z"])
        await press.readers(1, "c", tier="paid", labels=["y"])
        mailing = await press.mail(await press.tenant.published(), **body)
        assert mailing["recipients"] == len(expected)
        await press.send()
        assert {each.partition("@")[0] for each in press.addresses} == expected

    async def test_sites_do_not_mix(self, press: Press) -> None:
        await press.readers(2)
        other = await press.world.new_tenant("other")
        await other.create("blog_members", {"email": "theirs@example.com", "newsletter": True})
        await press.mail(await press.tenant.published())
        await press.send()
        assert sorted(press.addresses) == ["reader0@example.com", "reader1@example.com"]


class TestRefusals:
    async def test_a_refusal_for_good_is_kept_without_the_address(self, press: Press) -> None:
        first, second = await press.readers(2)
        mailing = await press.mail(await press.tenant.published())
        refused = "550 5.7.1 <READER0@example.com> we do not like reader0@example.com"
        press.postbox.refusals.extend([refused, refused])
        await press.send()
        state = await press.state(mailing)
        assert (state["status"], state["failed"], state["bounced"]) == ("failed", 2, 0)
        recipients = await press.recipients(mailing)
        assert recipients[first["id"]] == ("failed", "550 5.7.1 <…> we do not like …")
        assert recipients[second["id"]][0] == "failed"

    async def test_a_reply_that_can_not_be_stored_as_it_is_stops_nothing(
        self, press: Press
    ) -> None:
        (member,) = await press.readers(1)
        mailing = await press.mail(await press.tenant.published())
        press.postbox.refusals.append("550 5.7.1 refused\0")
        async with asyncio.timeout(30):
            await press.send()
        assert (await press.recipients(mailing))[member["id"]] == (
            "failed",
            "550 5.7.1 refused\ufffd",
        )

    async def test_no_such_mailbox_stops_the_address_on_every_site(self, press: Press) -> None:
        (member,) = await press.readers(1)
        await press.readers(1, "fine")
        other = await press.world.new_tenant("other")
        same = await other.create("blog_members", {"email": member["email"], "newsletter": True})
        mailing = await press.mail(await press.tenant.published())
        press.postbox.unknown.add(member["email"])
        await press.send()
        state = await press.state(mailing)
        assert (state["sent"], state["failed"], state["bounced"]) == (1, 1, 1)
        for tenant_id, member_id in ((press.tenant.id, member["id"]), (other.id, same["id"])):
            (now,) = await press.world.parts.records.find(
                blog_members, {"id": member_id}, tenant_id=tenant_id
            )
            assert now["mail_state"] == "bounced"
            assert "5.1.1" in now["mail_state_reason"]

    async def test_a_refusal_for_now_is_tried_again(self, press: Press) -> None:
        await press.readers(1)
        mailing = await press.mail(await press.tenant.published())
        press.postbox.refusals.extend(["451 4.3.0 later", "451 4.3.0 later"])
        for _ in range(2):
            await press.send()
            assert (await press.state(mailing))["status"] == "sending"
            press.world.clock.advance(minutes=15)
        await press.send()
        assert (await press.state(mailing))["status"] == "sent"
        assert len(press.postbox.letters) == 1

    async def test_a_refusal_for_more_than_a_day_is_final(self, press: Press) -> None:
        await press.readers(1)
        mailing = await press.mail(await press.tenant.published())
        press.postbox.refusals.extend(["452 4.2.2 full"] * 20)
        hours = 0
        while (await press.state(mailing))["status"] == "sending":
            await press.send()
            press.world.clock.advance(hours=1)
            hours += 1
        state = await press.state(mailing)
        assert (state["status"], state["failed"]) == ("failed", 1)
        assert 24 <= hours <= 48
        assert list((await press.recipients(mailing)).values()) == [("failed", "452 4.2.2 full")]

    async def test_a_lost_answer_is_uncertain_and_not_tried_again(self, press: Press) -> None:
        (member,) = await press.readers(1)
        await press.readers(1, "fine")
        mailing = await press.mail(await press.tenant.published())
        press.postbox.silent.add(member["email"])
        await press.send()
        press.world.clock.advance(days=2)
        await press.send()
        state = await press.state(mailing)
        assert (state["status"], state["sent"], state["uncertain"]) == ("sent", 1, 1)
        assert press.addresses.count(member["email"]) == 1
        press.postbox.silent.clear()
        again = await press.api.post(f"{MAILINGS}/{mailing['id']}/resend-uncertain")
        assert again.status_code == 202
        assert (again.json()["data"]["status"], again.json()["data"]["uncertain"]) == ("sending", 0)
        await press.send()
        state = await press.state(mailing)
        assert (state["status"], state["sent"], state["uncertain"]) == ("sent", 2, 0)
        ids = [
            each["Message-ID"] for each in press.postbox.letters if each["To"] == member["email"]
        ]
        assert len(ids) == 2
        assert len(set(ids)) == 1

    async def test_a_server_that_is_down_is_waited_for(self, press: Press) -> None:
        await press.readers(3)
        mailing = await press.mail(await press.tenant.published())
        await press.postbox.close()
        try:
            await press.send()
            state = await press.state(mailing)
            assert (state["status"], state["sent"], state["failed"]) == ("sending", 0, 0)
        finally:
            await press.postbox.open()
        press.world.clock.advance(minutes=5)
        await press.send()
        assert (await press.state(mailing))["sent"] == 3


class TestFewConnections:
    async def test_those_that_work_send_everything(self, press: Press) -> None:
        """The others are given up for a while, and nobody waits for a later attempt."""
        assert press.world.parts.settings.mail_connections > 3
        press.postbox.most_connections = 3
        await press.readers(150)
        mailing = await press.mail(await press.tenant.published())
        async with asyncio.timeout(60):
            await press.send()
        state = await press.state(mailing)
        assert (state["status"], state["sent"]) == ("sent", 150)
        assert len(press.addresses) == len(set(press.addresses)) == 150
        # Each connection was tried once.
        assert press.postbox.turned_away == press.world.parts.settings.mail_connections - 3

    async def test_after_a_day_without_the_server_the_mailing_fails(self, press: Press) -> None:
        await press.readers(2)
        mailing = await press.mail(await press.tenant.published())
        worker = mailing_worker(press.world.parts)
        await press.postbox.close()
        try:
            for hours in (0, 23, 2):
                press.world.clock.advance(hours=hours)
                assert (await press.state(mailing))["status"] == "sending"
                await worker.run_due()
        finally:
            await press.postbox.open()
        assert (await press.state(mailing))["status"] == "failed"
        resumed = await press.api.post(f"{MAILINGS}/{mailing['id']}/resume")
        assert resumed.status_code == 200
        await press.send()
        state = await press.state(mailing)
        assert (state["status"], state["sent"], state["failed"]) == ("sent", 2, 0)


class TestSlowServer:
    async def test_who_waits_for_longer_than_a_lease_gets_one_email(self, press: Press) -> None:
        """All connections wait for the server, and those behind them are claimed again."""
        connections = press.world.parts.settings.mail_connections
        await press.readers(connections + 4)
        mailing = await press.mail(await press.tenant.published())
        press.postbox.is_answering.clear()
        worker = mailing_worker(press.world.parts)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(worker.run_forever())
            await until(lambda: len(press.addresses) == connections)
            press.world.clock.advance(seconds=LEASE.total_seconds() + 1)
            await until(lambda: shows(press, mailing, "uncertain", connections))
            press.postbox.is_answering.set()
            await until(lambda: shows(press, mailing, "status", "sent"))
            worker.stop()
        assert len(press.addresses) == len(set(press.addresses)) == connections + 4
        state = await press.state(mailing)
        assert (state["sent"], state["uncertain"]) == (4, connections)


class TestLeaving:
    @pytest.mark.parametrize("way", ["one click", "link", "account", "cancelled", "deleted"])
    async def test_who_leaves_before_the_email_left_gets_none(self, press: Press, way: str) -> None:
        first = await press.tenant.member(email="first0@example.com", newsletter=True)
        await press.mail(await press.tenant.published())
        await press.send()
        (letter,) = press.postbox.letters
        (second,) = await press.readers(1, "second")
        mailing = await press.mail(await press.tenant.published(title="Another"))
        if way == "one click":
            answer = await press.tenant.guest.post(
                link_in(letter), data={"List-Unsubscribe": "One-Click"}
            )
            assert answer.status_code == 200
        elif way == "link":
            link = next(each for each in text_of(letter).split() if "/unsubscribe?" in each)
            parts = urlsplit(link)
            page = await press.tenant.guest.post(f"{parts.path}?{parts.query}")
            assert page.status_code == 200
        elif way == "account":
            url = f"/api/collections/blog_members/records/{first.id}"
            changed = await first.api.patch(url, json={"newsletter": False})
            assert changed.status_code == 200
        elif way == "cancelled":
            await press.tenant.update("blog_members", first.id, {"status": "cancelled"})
        else:
            await press.world.parts.records.delete(system(press.tenant.id), blog_members, first.id)
        await press.send()
        state = await press.state(mailing)
        assert (state["recipients"], state["sent"], state["unsubscribed"]) == (2, 1, 1)
        assert press.addresses == ["first0@example.com", "second0@example.com"]
        assert (await press.recipients(mailing))[second["id"]][0] == "sent"


class TestSuspension:
    async def test_it_pauses_the_mailings_of_the_site(self, press: Press) -> None:
        await press.readers(2)
        made = await press.mail(await press.tenant.published())
        records, operator = press.world.parts.records, system(press.tenant.id)
        given = {"status": TenantStatus.SUSPENDED, "suspension_reason": "x"}
        await records.update(operator, tenants, press.tenant.id, given)
        assert await press.send() == 0
        assert press.addresses == []
        (held,) = await records.find(mailings, {"id": made["id"]}, tenant_id=press.tenant.id)
        assert (held["status"], held["reason"]) == ("paused", SITE_SUSPENDED)
        await lift(records, operator)
        assert await press.send() == 2
        assert (await press.state(made))["status"] == "sent"

    async def test_what_staff_has_paused_stays_paused(self, press: Press) -> None:
        await press.readers(1)
        made = await press.mail(await press.tenant.published())
        await press.api.post(f"{MAILINGS}/{made['id']}/pause")
        records, operator = press.world.parts.records, system(press.tenant.id)
        given = {"status": TenantStatus.SUSPENDED, "suspension_reason": "x"}
        await records.update(operator, tenants, press.tenant.id, given)
        await press.send()
        await lift(records, operator)
        assert await press.send() == 0
        assert (await press.state(made))["status"] == "paused"
