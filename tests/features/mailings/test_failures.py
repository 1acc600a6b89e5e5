"""A mailing that can't be made ends as failed, is told to its owner, delays no other, and can be
tried again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.faces.admin.visitor import staff
from tests.features.mailings.conftest import MAILINGS, Press
from tests.outside.mail.offices import text_of
from tests.poisoned import poison
from tests.v1.keys import key_client

from masthead.engine.records.collection import Record
from masthead.features.mailings.collection import mailings
from masthead.features.mailings.forms import Forms
from masthead.service.background import mailing_worker


async def stored(press: Press, mailing: dict[str, Any]) -> Record:
    wanted = {"id": mailing["id"]}
    [found] = await press.world.parts.records.find(mailings, wanted, tenant_id=press.tenant.id)
    return found


class Spoilt:
    """Letters of the site can't be drawn: the accent of its newsletter is no colour."""

    def __init__(self, press: Press) -> None:
        self._press = press
        self._newsletter = ""

    async def begin(self) -> Spoilt:
        newsletters = self._press.world.collection("newsletters")
        records = self._press.world.parts.records
        [found] = await records.find(newsletters, {}, tenant_id=self._press.tenant.id)
        self._newsletter = found["id"]
        await self._set("no colour")
        return self

    async def mend(self) -> None:
        await self._set("")

    async def _set(self, colour: str) -> None:
        database = self._press.world.parts.database
        await poison(database, "newsletters", self._newsletter, accent_color=colour)


class TestRaisingLetter:
    async def test_it_fails_with_a_reason_and_others_are_sent(self, press: Press) -> None:
        owner, account = await staff(press.tenant, "owner")
        await press.readers(2)
        await Spoilt(press).begin()
        mailing = await press.mail(await press.tenant.published(title="Tides"))
        other = await press.world.new_tenant("other")
        await other.create("blog_members", {"email": "theirs@example.com", "newsletter": True})
        api = await key_client(other)
        body = {"post_id": (await other.published())["id"]}
        theirs = (await api.post(MAILINGS, json=body)).json()["data"]
        await press.send()
        assert press.addresses == ["theirs@example.com", account.email]
        assert (await api.get(f"{MAILINGS}/{theirs['id']}")).json()["status"] == "sent"
        await press.send()
        failed = await stored(press, mailing)
        assert (failed["status"], failed["sent"]) == ("failed", 0)
        assert "ValueError" in failed["reason"]
        assert failed["finished_at"]
        page = (await owner.get(f"/admin/mailings/{mailing['id']}")).text
        assert "could not be made" in page
        assert "Try again" in page
        home = (await owner.get("/admin")).text
        assert "The mailing “Tides” failed." in home
        told = press.postbox.letters[-1]
        assert told["Subject"].endswith("failed")
        assert "could not be made" in text_of(told)
        assert f"/admin/mailings/{mailing['id']}" in text_of(told)
        assert (await press.tenant.event_names()).count("mailing.sent") == 1

    async def test_after_the_mend_it_is_tried_again(self, press: Press) -> None:
        owner, _ = await staff(press.tenant, "owner")
        await press.readers(2)
        spoilt = await Spoilt(press).begin()
        mailing = await press.mail(await press.tenant.published())
        await press.send()
        await spoilt.mend()
        await owner.post(f"/admin/mailings/{mailing['id']}", {"do": "resume"})
        assert (await stored(press, mailing))["reason"] == ""
        await press.send()
        state = await press.state(mailing)
        assert (state["status"], state["sent"]) == ("sent", 2)
        assert sorted(press.addresses)[-2:] == ["reader0@example.com", "reader1@example.com"]

    async def test_in_the_middle_nobody_gets_it_twice(self, press: Press) -> None:
        await press.readers(3)
        mailing = await press.mail(await press.tenant.published())
        press.postbox.refusals.append("451 4.3.0 later")
        await press.send()
        spoilt = await Spoilt(press).begin()
        press.world.clock.advance(minutes=5)
        await press.send()
        state = await press.state(mailing)
        assert (state["status"], state["sent"]) == ("failed", 2)
        body = {"post_id": mailing["post_id"]}
        assert (await press.api.post(MAILINGS, json=body)).status_code == 409
        await spoilt.mend()
        resumed = await press.api.post(f"{MAILINGS}/{mailing['id']}/resume")
        assert resumed.json()["data"]["status"] == "sending"
        await press.send()
        state = await press.state(mailing)
        assert (state["status"], state["sent"]) == ("sent", 3)
        readers = [each for each in press.addresses if each.startswith("reader")]
        assert len(readers) == len(set(readers)) == 3

    async def test_a_scheduled_one_that_can_not_start(self, press: Press) -> None:
        await press.readers(1)
        later = "2026-11-14T11:00:00Z"
        mailing = await press.mail(await press.tenant.published(), scheduled_for=later)
        other = await press.world.new_tenant("other")
        await other.create("blog_members", {"email": "theirs@example.com", "newsletter": True})
        api = await key_client(other)
        body = {"post_id": (await other.published())["id"], "scheduled_for": later}
        assert (await api.post(MAILINGS, json=body)).status_code == 202
        press.world.clock.advance(hours=2)
        database = press.world.parts.database
        await poison(database, "tenants", press.tenant.id, plan="none")
        await press.send()
        assert press.addresses == ["theirs@example.com"]
        failed = await stored(press, mailing)
        assert (failed["status"], failed["started_at"]) == ("failed", "")
        await poison(database, "tenants", press.tenant.id, plan="business")
        resumed = await press.api.post(f"{MAILINGS}/{mailing['id']}/resume")
        assert resumed.json()["data"]["status"] == "scheduled"
        await press.send()
        assert (await press.state(mailing))["status"] == "sent"

    async def test_the_owner_reads_the_reason_in_their_language(self, press: Press) -> None:
        owner, _ = await staff(press.tenant, "owner", language="de")
        await press.readers(1)
        await Spoilt(press).begin()
        mailing = await press.mail(await press.tenant.published())
        for _ in range(2):
            await press.send()
        reason = "wegen eines Fehlers im Dienst nicht erstellen (ValueError)"
        for path in ("/admin", f"/admin/mailings/{mailing['id']}"):
            assert reason in (await owner.get(path)).text
        assert reason in " ".join(text_of(press.postbox.letters[-1]).split())

    async def test_a_welcome_email_that_fails_is_told_once(self, press: Press) -> None:
        _, account = await staff(press.tenant, "owner")
        welcome = {"kind": "free", "is_on": True, "subject": "Welcome", "content_html": "<p>x</p>"}
        await press.tenant.create("welcome_emails", welcome)
        spoilt = await Spoilt(press).begin()
        for number in range(3):
            await press.tenant.member(email=f"new{number}@example.com", verified=True)
            for _ in range(3):
                await press.send()
        assert press.addresses == [account.email]
        await spoilt.mend()
        await press.tenant.member(email="new3@example.com", verified=True)
        for _ in range(2):
            await press.send()
        assert sorted(press.addresses[1:]) == [f"new{number}@example.com" for number in range(4)]


class TestRaisingEmail:
    async def test_one_email_that_can_not_be_composed_fails_alone(
        self, press: Press, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        connections = press.world.parts.settings.mail_connections
        await press.readers(2 * connections + 2)
        mailing = await press.mail(await press.tenant.published())
        compose = Forms.compose

        def raising(self: Any, claimed: Any) -> Any:
            if claimed.email < f"reader{connections + 1}":
                raise KeyError("planted")
            return compose(self, claimed)

        monkeypatch.setattr(Forms, "compose", raising)
        async with asyncio.timeout(20):
            await press.send()
        state = await press.state(mailing)
        assert state["status"] == "sent"
        assert state["sent"] + state["failed"] == 2 * connections + 2
        assert state["failed"] >= connections


class TestSentAnew:
    async def test_after_a_cancel_before_anyone_got_it(self, press: Press) -> None:
        await press.readers(2)
        post = await press.tenant.published()
        first = await press.mail(post)
        assert (await press.api.post(f"{MAILINGS}/{first['id']}/cancel")).status_code == 200
        second = await press.mail(post, subject="Anew")
        assert second["id"] != first["id"]
        again = await press.api.post(MAILINGS, json={"post_id": post["id"]})
        assert again.status_code == 409
        assert second["id"] in again.json()["error"]["message"]
        await press.send()
        assert sorted(press.addresses) == ["reader0@example.com", "reader1@example.com"]
        assert (await press.state(first))["status"] == "cancelled"

    async def test_after_every_email_was_refused(self, press: Press) -> None:
        owner, _ = await staff(press.tenant, "owner")
        await press.readers(1)
        post = await press.tenant.published()
        first = await press.mail(post)
        press.postbox.refusals.append("550 5.7.1 no")
        await press.send()
        assert (await stored(press, first))["reason"].startswith("The mail server accepted none")
        page = (await owner.get(f"/admin/mailings/{first['id']}")).text
        assert "Email it again…" in page
        assert "Send 1 email" in (await owner.get(f"/admin/posts/{post['id']}/mail")).text
        refused = await press.api.post(f"{MAILINGS}/{first['id']}/resume")
        assert refused.status_code == 409
        await press.mail(post)

    async def test_not_while_an_email_of_it_is_leaving(self, press: Press) -> None:
        await press.readers(1)
        post = await press.tenant.published()
        first = await press.mail(post)
        press.postbox.is_answering.clear()
        worker = mailing_worker(press.world.parts)
        sending = asyncio.create_task(worker.run_due())
        while not press.addresses:
            await asyncio.sleep(0.005)
        assert (await press.api.post(f"{MAILINGS}/{first['id']}/cancel")).status_code == 200
        body = {"post_id": post["id"]}
        assert (await press.api.post(MAILINGS, json=body)).status_code == 409
        press.postbox.is_answering.set()
        await sending
        assert (await press.api.post(MAILINGS, json=body)).status_code == 409

    async def test_a_failed_one_is_not_resumed_beside_another(self, press: Press) -> None:
        await press.readers(1)
        spoilt = await Spoilt(press).begin()
        post = await press.tenant.published()
        first = await press.mail(post)
        await press.send()
        await spoilt.mend()
        second = await press.mail(post)
        refused = await press.api.post(f"{MAILINGS}/{first['id']}/resume")
        assert refused.status_code == 409
        assert second["id"] in refused.json()["error"]["message"]
        await press.send()
        assert press.addresses.count("reader0@example.com") == 1

    async def test_what_nobody_got_is_no_part_of_the_months_recipients(self, press: Press) -> None:
        await press.readers(3)
        await press.tenant.update("tenants", press.tenant.id, {"mails_per_month": 3})
        spoilt = await Spoilt(press).begin()
        first = await press.mail(await press.tenant.published())
        await press.send()
        await spoilt.mend()
        await press.mail(await press.tenant.published(title="Another"))
        refused = await press.api.post(f"{MAILINGS}/{first['id']}/resume")
        assert refused.status_code == 403

    async def test_two_at_once_make_one(self, press: Press) -> None:
        await press.readers(1)
        post = await press.tenant.published()
        body = {"post_id": post["id"]}
        answers = await asyncio.gather(*(press.api.post(MAILINGS, json=body) for _ in range(4)))
        assert sorted(each.status_code for each in answers) == [202, 409, 409, 409]
