"""Members in the public API: who may see what, consent, emails, and deletions that are erasures."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.outside.mail.offices import Office, text_of
from tests.v1.keys import key_client
from tests.world import TenantWorld

from masthead.engine.records.collection import Record

MEMBERS = "/api/v1/members"
ANONYMOUS = {"id", "email", "tier", "status", "created", "updated"}


@pytest.fixture
async def tenant(office: Office) -> TenantWorld:
    return await office.world.new_tenant("demo")


@pytest.fixture
async def api(tenant: TenantWorld) -> httpx.AsyncClient:
    return await key_client(tenant, "members:read", "members:write")


@pytest.fixture
async def personal(tenant: TenantWorld) -> httpx.AsyncClient:
    return await key_client(tenant, "members:read", "members:write", "members:personal")


async def stored(tenant: TenantWorld, **equals: Any) -> list[Record]:
    collection = tenant.world.collection("blog_members")
    return await tenant.world.parts.records.find(collection, equals, tenant_id=tenant.id)


class TestCreate:
    async def test_a_member_is_added_without_an_email(
        self, tenant: TenantWorld, api: httpx.AsyncClient, office: Office
    ) -> None:
        body = {"email": "Ada@Example.com", "name": "Ada", "tier": "paid", "labels": ["fair"]}
        answer = await api.post(MEMBERS, json=body)
        assert answer.status_code == 201, answer.text
        member = answer.json()["data"]
        assert member.keys() == ANONYMOUS
        assert (member["email"], member["tier"]) == ("a***@example.com", "paid")
        [record] = await stored(tenant, email="ada@example.com")
        assert (record["name"], record["labels"], record["newsletter"]) == ("Ada", ["fair"], False)
        assert await office.mails() == []
        read = await api.get(f"{MEMBERS}/{member['id']}")
        assert read.json() == member

    async def test_a_known_address_is_a_conflict(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        await tenant.create("blog_members", {"email": "ada@example.com"})
        answer = await api.post(MEMBERS, json={"email": "ADA@example.com"})
        assert answer.status_code == 409
        assert answer.json()["error"]["code"] == "CONFLICT"

    async def test_the_newsletter_needs_consent_which_is_stored(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        for more in ({}, {"consent": " "}, {"consent": None}):
            body = {"email": "ada@example.com", "newsletter": True, **more}
            answer = await api.post(MEMBERS, json=body)
            assert answer.status_code == 422, more
            assert answer.json()["error"]["details"].keys() == {"consent"}
        said = "Paper form at the harbour fair"
        body = {"email": "ada@example.com", "newsletter": True, "consent": said}
        assert (await api.post(MEMBERS, json=body)).status_code == 201
        [record] = await stored(tenant, email="ada@example.com")
        assert (record["newsletter"], record["consent_source"]) == (True, said)
        assert record["consent_at"] == record["created"]
        assert await tenant.event_names() == ["subscriber.added", "member.subscribed"]

    async def test_an_email_is_sent_if_it_is_wanted(
        self, api: httpx.AsyncClient, office: Office
    ) -> None:
        body = {"email": "ada@example.com", "send_email": True}
        assert (await api.post(MEMBERS, json=body)).status_code == 201
        assert "/member/link?token=" in text_of(await office.mail_to("ada@example.com"))

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({}, "email"),
            ({"email": "nobody"}, "email"),
            ({"email": "a@example.com", "tier": "gold"}, "tier"),
            ({"email": "a@example.com", "labels": "x"}, "labels"),
            ({"email": "a@example.com", "send_email": "yes"}, "send_email"),
            ({"email": "a@example.com", "consent": 5, "newsletter": True}, "consent"),
            ({"email": "a@example.com", "newsletter": "true"}, "newsletter"),
        ],
    )
    async def test_what_is_refused_is_named(
        self, api: httpx.AsyncClient, body: dict[str, Any], field: str
    ) -> None:
        answer = await api.post(MEMBERS, json=body)
        assert answer.status_code == 422, answer.text
        assert answer.json()["error"]["details"].keys() == {field}

    async def test_an_idempotency_key_adds_one(self, api: httpx.AsyncClient) -> None:
        headers = {"idempotency-key": "ada"}
        answers = [
            await api.post(MEMBERS, json={"email": "ada@example.com"}, headers=headers)
            for _ in range(2)
        ]
        assert [each.status_code for each in answers] == [201, 201]
        assert answers[0].json() == answers[1].json()


class TestPersonalData:
    async def test_only_the_scope_shows_it_also_from_the_cache(
        self, tenant: TenantWorld, api: httpx.AsyncClient, personal: httpx.AsyncClient
    ) -> None:
        values = {"email": "ada@example.com", "name": "Ada", "labels": ["fair"]}
        member = await tenant.create("blog_members", values)
        fuller = ANONYMOUS | {"name", "labels", "newsletter", "tier_id", "access_until"}
        for _ in range(2):
            for address in (MEMBERS, f"{MEMBERS}/{member['id']}"):
                for client, fields in ((api, ANONYMOUS), (personal, fuller), (api, ANONYMOUS)):
                    body = (await client.get(address)).json()
                    item = body["items"][0] if "items" in body else body
                    assert item.keys() == fields
                    assert ("ada@" in item["email"]) == (client is personal)
        item = (await personal.get(f"{MEMBERS}/{member['id']}")).json()
        assert (item["name"], item["labels"], item["newsletter"]) == ("Ada", ["fair"], False)
        changed = await personal.patch(f"{MEMBERS}/{member['id']}", json={"tier": "paid"})
        assert changed.json()["data"].keys() == fuller

    async def test_the_scope_alone_reads_nothing(self, tenant: TenantWorld) -> None:
        client = await key_client(tenant, "members:personal")
        assert (await client.get(MEMBERS)).json()["error"]["code"] == "INVALID_SCOPE"


class TestDelete:
    @pytest.mark.both_databases
    async def test_a_deletion_erases_at_once(
        self, tenant: TenantWorld, api: httpx.AsyncClient, office: Office
    ) -> None:
        member = await tenant.create("blog_members", {"email": "ada@example.com"})
        post = await tenant.published()
        comment = await tenant.create(
            "comments",
            {
                **{"post_id": post["id"], "author_name": "Ada", "body": "Mine."},
                "author_email": "ada@example.com",
            },
        )
        path = f"{MEMBERS}/{member['id']}"
        assert (await api.delete(path)).status_code == 204
        assert (await api.get(path)).status_code == 404
        assert (await api.delete(path)).status_code == 404
        assert await stored(tenant) == []
        assert await office.mails() == []
        records = tenant.world.parts.records
        found = await records.find(
            tenant.world.collection("comments"), {"id": comment["id"]}, tenant_id=tenant.id
        )
        assert (found[0]["author_name"], found[0]["author_email"]) != ("Ada", "ada@example.com")
        [request] = await records.find(
            tenant.world.collection("gdpr_requests"), {}, tenant_id=tenant.id
        )
        assert (request["status"], request["asked_by"]) == ("completed", "site")

    async def test_only_the_version_that_was_seen(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        member = await tenant.create("blog_members", {"email": "ada@example.com"})
        path = f"{MEMBERS}/{member['id']}"
        tag = (await api.get(path)).headers["etag"]
        await api.patch(path, json={"tier": "paid"})
        assert (await api.delete(path, headers={"if-match": tag})).status_code == 412
        assert len(await stored(tenant)) == 1
