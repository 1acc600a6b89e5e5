"""Every answer and refusal of `/api/v1/mailings`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
import pytest
from tests.features.mailings.conftest import MAILINGS, Press
from tests.v1.keys import key_client

from masthead.base import clock
from masthead.engine.records.write.transaction import TenantTransaction

NAMES = [
    "id",
    "post_id",
    "newsletter",
    "subject",
    "audience",
    "labels",
    "status",
    "recipients",
    "sent",
    "failed",
    "uncertain",
    "bounced",
    "complained",
    "unsubscribed",
    "opens",
    "clicks",
    "scheduled_for",
    "started_at",
    "finished_at",
    "created",
    "kind",
]


def code_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def post_to(press: Press, path: str = "", **body: Any) -> httpx.Response:
    return await press.api.post(MAILINGS + path, json=body)


async def act(press: Press, mailing: dict[str, Any], action: str) -> httpx.Response:
    return await press.api.post(f"{MAILINGS}/{mailing['id']}/{action}")


def later(press: Press, **length: float) -> str:

    return clock.to_text(press.world.clock.moment + timedelta(**length))


class TestCreate:
    async def test_the_answer_has_exactly_the_decided_fields(self, press: Press) -> None:
        await press.readers(1)
        post = await press.tenant.published(title="Tides")
        answer = await post_to(press, post_id=post["id"])
        assert answer.status_code == 202
        data = answer.json()["data"]
        assert sorted(data) == sorted(NAMES)
        assert (data["newsletter"], data["audience"], data["labels"]) == ("main", "all", [])
        assert (data["subject"], data["post_id"]) == ("Tides", post["id"])
        assert data["scheduled_for"] is data["finished_at"] is data["opens"] is None
        listed = (await press.api.get(MAILINGS)).json()
        assert [each["id"] for each in listed["items"]] == [data["id"]]
        assert sorted(listed["items"][0]) == sorted(NAMES)
        assert (await press.api.get(f"{MAILINGS}?status=sent")).json()["total"] == 0

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"post_id": "aaaaaaaaaaaaaaa"}, "post_id"),
            ({"post_id": "no id"}, "post_id"),
            ({"post_id": 5}, "post_id"),
            ({"post_id": None}, "post_id"),
            ({"newsletter": "none"}, "newsletter"),
            ({"newsletter": 1}, "newsletter"),
            ({"audience": "nobody"}, "audience"),
            ({"audience": "paid"}, "audience"),
            ({"labels": ["unknown"]}, "audience"),
            ({"labels": "x"}, "labels"),
            ({"labels": [1]}, "labels"),
            ({"subject": ""}, "subject"),
            ({"subject": "   "}, "subject"),
            ({"subject": "a\nBcc: x"}, "subject"),
            ({"subject": "a\x07"}, "subject"),
            ({"subject": "x" * 256}, "subject"),
            ({"subject": None}, "subject"),
            ({"scheduled_for": "2020-01-01T00:00:00Z"}, "scheduled_for"),
            ({"scheduled_for": "soon"}, "scheduled_for"),
        ],
    )
    async def test_a_wrong_value_is_refused_by_its_field(
        self, press: Press, body: dict[str, Any], field: str
    ) -> None:
        await press.readers(1)
        post = await press.tenant.published()
        answer = await post_to(press, **{"post_id": post["id"]} | body)
        assert code_of(answer) == (422, "VALIDATION_ERROR")
        assert field in answer.json()["error"]["details"]
        assert (await press.api.get(MAILINGS)).json()["total"] == 0

    async def test_a_post_is_needed(self, press: Press) -> None:
        answer = await post_to(press)
        assert code_of(answer) == (422, "VALIDATION_ERROR")

    async def test_another_sites_post_is_unknown(self, press: Press) -> None:
        await press.readers(1)
        other = await press.world.new_tenant("other")
        theirs = await other.published()
        answer = await post_to(press, post_id=theirs["id"])
        assert code_of(answer) == (422, "VALIDATION_ERROR")

    async def test_a_second_mailing_is_refused_before_the_post_is_read(
        self, press: Press, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its text may have megabytes, and the site's write lock is held meanwhile."""
        await press.readers(1)
        post = await press.tenant.published()
        await press.mail(post)
        read: list[str] = []
        find = TenantTransaction.find

        async def watched(unit: Any, collection: Any, *values: Any, **more: Any) -> Any:
            read.append(collection.name)
            return await find(unit, collection, *values, **more)

        monkeypatch.setattr(TenantTransaction, "find", watched)
        assert code_of(await post_to(press, post_id=post["id"])) == (409, "CONFLICT")
        assert "newsletters" in read
        assert "posts" not in read

    async def test_a_further_mailing_compiles_no_statement(
        self, press: Press, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await press.readers(1)
        first, second = await press.tenant.published(), await press.tenant.published()
        await press.mail(first)
        database, compiled = press.world.parts.records.database, []

        def watched(statement: Any, *more: Any) -> Any:
            compiled.append(statement)
            return compile_statement(statement, *more)

        compile_statement = database.compile
        monkeypatch.setattr(database, "compile", watched)
        await press.mail(second)
        assert compiled == []

    async def test_a_post_is_mailed_once_to_a_newsletter(self, press: Press) -> None:
        await press.readers(1)
        await press.tenant.create("newsletters", {"name": "Second", "slug": "second"})
        post = await press.tenant.published()
        first = await press.mail(post)
        again = await post_to(press, post_id=post["id"])
        assert code_of(again) == (409, "CONFLICT")
        assert first["id"] in again.json()["error"]["message"]
        await press.send()
        assert code_of(await post_to(press, post_id=post["id"])) == (409, "CONFLICT")
        other = await post_to(press, post_id=post["id"], newsletter="second")
        assert other.status_code == 202

    async def test_a_repeated_call_gets_the_first_answer(self, press: Press) -> None:
        await press.readers(1)
        post = await press.tenant.published()
        headers = {"idempotency-key": "once"}
        answers = [
            await press.api.post(MAILINGS, json={"post_id": post["id"]}, headers=headers)
            for _ in range(2)
        ]
        assert [each.status_code for each in answers] == [202, 202]
        assert answers[0].json() == answers[1].json()
        await press.send()
        assert len(press.addresses) == 1

    async def test_a_draft_is_refused(self, press: Press) -> None:
        await press.readers(1)
        draft = await press.tenant.post()
        assert code_of(await post_to(press, post_id=draft["id"])) == (409, "CONFLICT")

    async def test_scopes(self, press: Press) -> None:
        await press.readers(1)
        post = await press.tenant.published()
        reader = await key_client(press.tenant, "mailings:read", "posts:write")
        refused = await reader.post(MAILINGS, json={"post_id": post["id"]})
        assert code_of(refused) == (403, "INVALID_SCOPE")
        writer = await key_client(press.tenant, "mailings:write")
        assert code_of(await writer.get(MAILINGS)) == (403, "INVALID_SCOPE")
        assert code_of(await press.tenant.guest.get(MAILINGS)) == (401, "UNAUTHORIZED")


class TestSchedule:
    async def test_it_goes_out_at_its_time(self, press: Press) -> None:
        await press.readers(1)
        post = await press.tenant.published()
        mailing = await press.mail(post, scheduled_for=later(press, hours=1))
        assert (mailing["status"], mailing["recipients"]) == ("scheduled", 0)
        assert await press.send() == 0
        await press.readers(1, "late")
        press.world.clock.advance(hours=2)
        assert await press.send() == 2
        assert (await press.state(mailing))["status"] == "sent"

    async def test_a_draft_waits_for_its_publication(self, press: Press) -> None:
        await press.readers(1)
        draft = await press.tenant.post()
        mailing = await press.mail(draft, scheduled_for=later(press, hours=1))
        press.world.clock.advance(hours=2)
        assert await press.send() == 0
        assert (await press.state(mailing))["status"] == "scheduled"
        await press.tenant.update("posts", draft["id"], {"status": "published"})
        assert await press.send() == 1
        assert (await press.state(mailing))["status"] == "sent"

    async def test_without_readers_at_its_time_it_fails(self, press: Press) -> None:
        (member,) = await press.readers(1)
        mailing = await press.mail(
            await press.tenant.published(), scheduled_for=later(press, hours=1)
        )
        await press.tenant.update("blog_members", member["id"], {"newsletter": False})
        press.world.clock.advance(hours=2)
        assert await press.send() == 0
        assert (await press.state(mailing))["status"] == "failed"

    async def test_a_deleted_post_is_not_mailed(self, press: Press) -> None:
        await press.readers(1)
        post = await press.tenant.published()
        mailing = await press.mail(post, scheduled_for=later(press, hours=1))
        posts = await key_client(press.tenant)
        assert (await posts.delete(f"/api/v1/posts/{post['id']}")).status_code == 204
        press.world.clock.advance(hours=2)
        assert await press.send() == 0
        state = await press.state(mailing)
        assert (state["status"], state["post_id"]) == ("failed", None)


class TestActions:
    async def test_pause_and_resume(self, press: Press) -> None:
        await press.readers(2)
        mailing = await press.mail(await press.tenant.published())
        for _ in range(2):
            paused = await act(press, mailing, "pause")
            assert (paused.status_code, paused.json()["data"]["status"]) == (200, "paused")
        assert await press.send() == 0
        assert press.addresses == []
        resumed = await act(press, mailing, "resume")
        assert (resumed.status_code, resumed.json()["data"]["status"]) == (200, "sending")
        assert await press.send() == 2

    async def test_pausing_a_scheduled_one(self, press: Press) -> None:
        await press.readers(1)
        mailing = await press.mail(
            await press.tenant.published(), scheduled_for=later(press, hours=1)
        )
        await act(press, mailing, "pause")
        press.world.clock.advance(hours=2)
        assert await press.send() == 0
        resumed = await act(press, mailing, "resume")
        assert resumed.json()["data"]["status"] == "scheduled"
        assert await press.send() == 1

    async def test_cancel(self, press: Press) -> None:
        await press.readers(2)
        mailing = await press.mail(await press.tenant.published())
        cancelled = await act(press, mailing, "cancel")
        assert (cancelled.status_code, cancelled.json()["data"]["status"]) == (200, "cancelled")
        assert await press.send() == 0
        name, payload = (await press.tenant.events())[-1]
        assert (name, payload["status"], payload["sent"]) == ("mailing.sent", "cancelled", 0)

    @pytest.mark.parametrize("action", ["pause", "resume", "cancel", "resend-uncertain"])
    async def test_an_ended_mailing_is_refused(self, press: Press, action: str) -> None:
        await press.readers(1)
        mailing = await press.mail(await press.tenant.published())
        await press.send()
        assert code_of(await act(press, mailing, action)) == (409, "CONFLICT")

    @pytest.mark.parametrize("action", ["", "pause", "resume", "cancel", "resend-uncertain"])
    async def test_another_sites_mailing_is_unknown(self, press: Press, action: str) -> None:
        await press.readers(1)
        mailing = await press.mail(await press.tenant.published())
        other = await key_client(await press.world.new_tenant("other"))
        path = f"{MAILINGS}/{mailing['id']}"
        answer = await (other.post(f"{path}/{action}") if action else other.get(path))
        assert code_of(answer) == (404, "NOT_FOUND")
        missing = f"{MAILINGS}/no-such-id"
        answer = await (other.post(f"{missing}/{action}") if action else other.get(missing))
        assert code_of(answer) == (404, "NOT_FOUND")
        assert (await other.get(MAILINGS)).json()["total"] == 0


class TestTestMail:
    async def test_a_copy_of_a_draft_for_the_staff(self, press: Press) -> None:
        owner = await press.tenant.owner()
        draft = await press.tenant.post(title="Tides", content_html="<p>High.</p>")
        answer = await post_to(press, "/test", post_id=draft["id"], to=owner.email.upper())
        assert answer.status_code == 202
        await press.send()
        (letter,) = press.postbox.letters
        assert letter["Subject"] == "[Test] Tides"
        assert letter["To"] == owner.email
        assert (await press.api.get(MAILINGS)).json()["total"] == 0

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"to": "stranger@example.com"}, "to"),
            ({"to": "no address"}, "to"),
            ({"to": None}, "to"),
            ({"to": 5}, "to"),
            ({}, "to"),
            ({"to": "theirs@example.com"}, "to"),
            ({"post_id": "aaaaaaaaaaaaaaa", "to": "mine@example.com"}, "post_id"),
        ],
    )
    async def test_a_wrong_value_is_refused_by_its_field(
        self, press: Press, body: dict[str, Any], field: str
    ) -> None:
        await press.tenant.owner(email="mine@example.com")
        await (await press.world.new_tenant("other")).owner(email="theirs@example.com")
        draft = await press.tenant.post()
        answer = await post_to(press, "/test", **{"post_id": draft["id"]} | body)
        assert code_of(answer) == (422, "VALIDATION_ERROR")
        assert field in answer.json()["error"]["details"]
        await press.send()
        assert press.addresses == []


class TestQuota:
    async def test_over_it_the_message_says_what_is_left(self, press: Press) -> None:
        await press.readers(3)
        await press.tenant.update("tenants", press.tenant.id, {"mails_per_month": 5})
        await press.mail(await press.tenant.published())
        refused = await post_to(press, post_id=(await press.tenant.published())["id"])
        assert code_of(refused) == (403, "PLAN_UPGRADE_REQUIRED")
        assert "2 are left" in refused.json()["error"]["message"]
        assert (await press.api.get(MAILINGS)).json()["total"] == 1
        press.world.clock.advance(days=31)
        await press.mail(await press.tenant.published())

    async def test_it_is_checked_again_when_a_scheduled_one_starts(self, press: Press) -> None:
        await press.readers(3)
        await press.tenant.update("tenants", press.tenant.id, {"mails_per_month": 3})
        mailing = await press.mail(
            await press.tenant.published(), scheduled_for=later(press, hours=1)
        )
        await press.mail(await press.tenant.published())
        press.world.clock.advance(hours=2)
        assert await press.send() == 3
        assert (await press.state(mailing))["status"] == "failed"


class TestBreaker:
    async def test_too_many_unknown_mailboxes_pause_it_once(self, press: Press) -> None:
        owner = await press.tenant.owner()
        readers = await press.readers(160)
        mailing = await press.mail(await press.tenant.published())
        press.postbox.unknown.update(each["email"] for each in readers)
        await press.send()
        state = await press.state(mailing)
        assert state["status"] == "paused"
        assert 50 <= state["failed"] < 160
        await press.send()
        (notice,) = press.postbox.letters
        assert notice["To"] == owner.email
        assert "was paused" in notice["Subject"]
        press.postbox.unknown.clear()
        assert (await act(press, mailing, "resume")).json()["data"]["status"] == "sending"
        await press.send()
        state = await press.state(mailing)
        assert (state["status"], state["sent"]) == ("sent", 160 - state["failed"])
