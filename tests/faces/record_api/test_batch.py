"""Several changes in one transaction: all of them or none, with their files and events."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from tests.faces.record_api.test_files import address, png
from tests.world import Account, TenantWorld, records_of

from masthead.engine.records.collection import Record
from masthead.faces.record_api import batch as batches

pytestmark = pytest.mark.both_databases

POSTS, MEDIA, MEMBERS = records_of("posts"), records_of("media"), records_of("blog_members")


def create(path: str = POSTS, **values: Any) -> dict[str, Any]:
    return {"method": "POST", "url": path, "body": values}


async def send(api: httpx.AsyncClient, *requests: dict[str, Any]) -> httpx.Response:
    return await api.post("/api/batch", json={"requests": requests})


def failure(answer: httpx.Response) -> tuple[str, dict[str, Any]]:
    """Which request has failed, and its own response."""
    assert answer.status_code == 400, answer.text
    ((number, failed),) = answer.json()["data"]["requests"].items()
    assert failed["code"] == "batch_request_failed"
    return number, failed["response"]


async def titles(api: httpx.AsyncClient) -> list[str]:
    found = (await api.get(POSTS, params={"sort": "title", "perPage": 100})).json()
    return [item["title"] for item in found["items"]]


class TestAllOrNothing:
    async def test_every_change_and_its_events(self, tenant: TenantWorld, owner: Account) -> None:
        answer = await send(
            owner.api,
            create(title="One", status="published"),
            create(title="Two", id="abcdefghij00001"),
            {"method": "PATCH", "url": f"{POSTS}/abcdefghij00001", "body": {"status": "published"}},
        )
        assert answer.status_code == 200, answer.text
        assert [each["status"] for each in answer.json()] == [200, 200, 200]
        assert answer.json()[2]["body"]["status"] == "published"
        assert await titles(owner.api) == ["One", "Two"]
        events = await tenant.world.parts.event_log.newest(tenant.id, name="post.published")
        assert len(events) == 2

    async def test_a_failure_leaves_nothing(self, tenant: TenantWorld, owner: Account) -> None:
        answer = await send(
            owner.api,
            create(title="One", status="published"),
            create(title="One"),
            create(title=""),
        )
        assert failure(answer)[0] == "2"
        assert await titles(owner.api) == []
        assert not await tenant.world.parts.event_log.newest(tenant.id)

    async def test_the_first_failure_is_reported(self, owner: Account) -> None:
        """Also where a later request could be refused before the transaction."""
        missing = {"method": "DELETE", "url": f"{POSTS}/abcdefghij99999"}
        number, response = failure(await send(owner.api, missing, create("/api/nope")))
        assert (number, response["status"]) == ("0", 404)

    async def test_one_that_takes_too_long(
        self, owner: Account, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(batches, "MAX_SECONDS", -1.0)
        answer = await send(owner.api, create(title="One"))
        assert answer.status_code == 400
        assert "took longer" in answer.json()["message"]
        assert await titles(owner.api) == []

    async def test_texts_are_cleaned_as_elsewhere(
        self, tenant: TenantWorld, owner: Account
    ) -> None:
        text = "<p>Words<script>alert(1)</script></p>"
        answer = await send(owner.api, create(title="One", status="published", content_html=text))
        post = answer.json()[0]["body"]
        assert post["content_html"] == text
        seen = (await tenant.guest.get(f"{POSTS}/{post['id']}")).json()
        assert seen["content_html"] == "<p>Words</p>"


class TestCallers:
    @pytest.mark.parametrize("url", ["//[x", "http://[::1", "//a\u2100b", "?", "//", "\\"])
    async def test_an_address_that_is_none(self, tenant: TenantWorld, url: str) -> None:
        number, response = failure(await send(tenant.guest, {"method": "POST", "url": url}))
        assert (number, response["status"]) == ("0", 400)

    async def test_a_guest_is_refused(self, tenant: TenantWorld) -> None:
        number, response = failure(await send(tenant.guest, create(title="One")))
        assert (number, response["status"]) == ("0", 401)

    async def test_a_member_changes_the_own_account_only(self, tenant: TenantWorld) -> None:
        member, other = await tenant.member(), await tenant.member()
        change = {"method": "PATCH", "url": f"{MEMBERS}/{member.id}", "body": {"name": "Ada"}}
        answer = await send(member.api, change)
        assert answer.json()[0]["body"]["name"] == "Ada"
        change["url"] = f"{MEMBERS}/{other.id}"
        assert failure(await send(member.api, change))[1]["status"] == 404

    async def test_another_tenants_record(self, owner: Account, other_tenant: TenantWorld) -> None:
        post = await other_tenant.published(title="Theirs")
        change = {"method": "PATCH", "url": f"{POSTS}/{post['id']}", "body": {"title": "Mine"}}
        assert failure(await send(owner.api, change))[1]["status"] == 404
        body = {"method": "PUT", "url": POSTS, "body": {"id": post["id"], "title": "Mine"}}
        assert (await send(owner.api, body)).status_code == 200  # ids are a tenant's own
        assert await titles((await other_tenant.owner()).api) == ["Theirs"]

    async def test_an_operator_changes_one_tenant_at_a_time(
        self, tenant: TenantWorld, other_tenant: TenantWorld, operator: Account, draft: Record
    ) -> None:
        rename = {"method": "PATCH", "url": f"{POSTS}/{draft['id']}", "body": {"title": "Renamed"}}
        done = await send(operator.api, rename, create(title="New", tenant_id=tenant.id))
        assert done.status_code == 200, done.text
        both = await send(operator.api, rename, create(title="New", tenant_id=other_tenant.id))
        number, response = failure(both)
        assert number == "1"
        assert "one tenant only" in response["message"]

    async def test_an_account_with_its_password(self, tenant: TenantWorld, owner: Account) -> None:
        account = {
            "email": "new@example.com",
            "password": "correct horse battery",
            "passwordConfirm": "correct horse battery",
        }
        answer = await send(owner.api, create(MEMBERS, **account))
        assert answer.status_code == 200, answer.text
        signed_in = await tenant.guest.post(
            "/api/collections/blog_members/auth-with-password",
            json={"identity": account["email"], "password": account["password"]},
        )
        assert signed_in.status_code == 200


class TestFiles:
    async def test_files_of_two_requests(self, tenant: TenantWorld, owner: Account) -> None:
        answer = await _send_files(
            owner.api,
            [create(MEDIA, alt="a"), create(title="Between"), create(MEDIA, alt="b")],
            {"requests.0.file": ("a.png", png()), "requests[2].file": ("b.txt", b"words")},
        )
        assert answer.status_code == 200, answer.text
        first, _, last = (each["body"] for each in answer.json())
        assert (first["alt"], first["width"], last["mime_type"]) == ("a", 40, "text/plain")
        assert (await tenant.guest.get(address(last))).content == b"words"

    async def test_a_failure_removes_them(self, tenant: TenantWorld, owner: Account) -> None:
        answer = await _send_files(
            owner.api,
            [create(MEDIA, id="abcdefghij00001"), create(title="")],
            {"requests.0.file": ("a.txt", b"words")},
        )
        assert failure(answer)[0] == "1"
        assert (await owner.api.get(MEDIA)).json()["totalItems"] == 0
        objects = tenant.world.parts.objects
        assert [each async for each in objects.list_keys(tenant.id)] == []

    async def test_a_record_that_takes_none(self, owner: Account) -> None:
        answer = await _send_files(
            owner.api, [create(title="One")], {"requests.0.file": ("a.txt", b"words")}
        )
        assert "have no files" in failure(answer)[1]["message"]

    async def test_readers_send_none(self, tenant: TenantWorld) -> None:
        files = {"requests.0.file": ("a.txt", b"words")}
        answer = await _send_files(tenant.guest, [create(MEDIA)], files)
        assert answer.status_code == 400
        assert "staff" in answer.json()["message"]


async def _send_files(
    api: httpx.AsyncClient, requests: list[dict[str, Any]], files: dict[str, tuple[str, bytes]]
) -> httpx.Response:
    payload = {"@jsonPayload": json.dumps({"requests": requests})}
    return await api.post("/api/batch", data=payload, files=files)


async def test_more_text_than_a_single_form_may_hold(owner: Account) -> None:
    """The JavaScript client sends every batch as a form."""
    requests = [create(title=str(number), content_html="x" * 50_000) for number in range(30)]
    answer = await _send_files(owner.api, requests, {"unused": ("a.txt", b"")})
    assert answer.status_code == 200, answer.text
    assert len(await titles(owner.api)) == 30


async def test_a_body_that_can_not_be_read(owner: Account) -> None:
    answer = await owner.api.post(
        "/api/batch", content=b"{", headers={"content-type": "application/json"}
    )
    assert answer.status_code == 400
    assert answer.json()["message"].startswith("Failed to read the submitted batch data.")
