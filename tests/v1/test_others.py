"""Comments, members and site settings in the public API."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.v1.keys import key_client
from tests.world import TenantWorld

from masthead.engine.records.collection import Record
from masthead.features.members.v1 import masked

COMMENTS, MEMBERS, SETTINGS = "/api/v1/comments", "/api/v1/members", "/api/v1/site-settings"


@pytest.fixture
async def api(tenant: TenantWorld) -> httpx.AsyncClient:
    return await key_client(tenant)


class TestComments:
    async def test_a_comment_is_approved_at_once(
        self, tenant: TenantWorld, api: httpx.AsyncClient, published_post: Record
    ) -> None:
        body = {"post_id": published_post["id"], "author_name": "Ann", "body": "Well said."}
        answer = await api.post(COMMENTS, json=body)
        assert answer.status_code == 201
        comment = answer.json()["data"]
        assert comment.keys() == {
            "id",
            "post_id",
            "author_name",
            "author_email",
            "body",
            "parent_id",
            "status",
            "created",
            "updated",
        }
        assert comment["status"] == "approved"
        assert comment["author_email"] is None
        assert comment["parent_id"] is None
        events = (await tenant.event_names())[2:]
        assert events == ["comment.posted", "comment.approved", "comment.received"]

    async def test_received_fires_once(
        self, tenant: TenantWorld, api: httpx.AsyncClient, published_post: Record
    ) -> None:
        body = {"post_id": published_post["id"], "author_name": "Ann", "body": "x"}
        comment = (await api.post(COMMENTS, json=body)).json()["data"]
        for status in ("spam", "pending", "approved"):
            answer = await api.patch(
                f"{COMMENTS}/{comment['id']}/moderate", json={"status": status}
            )
            assert answer.json()["data"]["status"] == status
        names = await tenant.event_names()
        assert names.count("comment.received") == 1
        assert names.count("comment.approved") == 2

    @pytest.mark.parametrize(
        ("field", "good", "bad"),
        [
            ("author_name", ["x", "x" * 100], ["", "x" * 101, None, 5]),
            ("author_email", ["a@example.com", None], ["", "nope", "a@b@c", 5]),
            ("body", ["x", "x" * 5000], ["", "x" * 5001, None, 5]),
            ("post_id", [], ["", "nope", None, 5, "abcdefghij12345"]),
            ("parent_id", [None], ["", "nope", 5, "abcdefghij12345"]),
        ],
    )
    async def test_both_sides_of_each_boundary(
        self,
        api: httpx.AsyncClient,
        published_post: Record,
        field: str,
        good: list[Any],
        bad: list[Any],
    ) -> None:
        body = {"post_id": published_post["id"], "author_name": "Ann", "body": "x"}
        for value in good:
            answer = await api.post(COMMENTS, json=body | {field: value})
            assert answer.status_code == 201, (value, answer.text)
        for value in bad:
            answer = await api.post(COMMENTS, json=body | {field: value})
            assert answer.status_code == 422, (value, answer.text)
            assert answer.json()["error"]["details"].keys() == {field}

    async def test_a_reply_belongs_to_the_same_post(
        self, tenant: TenantWorld, api: httpx.AsyncClient, published_post: Record
    ) -> None:
        elsewhere = await tenant.published(title="Elsewhere")
        body = {"author_name": "Ann", "body": "x"}
        parent = await api.post(COMMENTS, json=body | {"post_id": published_post["id"]})
        parent_id = parent.json()["data"]["id"]
        good = await api.post(
            COMMENTS, json=body | {"post_id": published_post["id"], "parent_id": parent_id}
        )
        assert good.status_code == 201
        bad = await api.post(
            COMMENTS, json=body | {"post_id": elsewhere["id"], "parent_id": parent_id}
        )
        assert bad.status_code == 422
        assert bad.json()["error"]["details"].keys() == {"parent_id"}

    async def test_one_is_shown_and_deleted(
        self, tenant: TenantWorld, api: httpx.AsyncClient, published_post: Record
    ) -> None:
        body = {"post_id": published_post["id"], "author_name": "Ann", "body": "x"}
        comment = (await api.post(COMMENTS, json=body)).json()["data"]
        reply = await api.post(COMMENTS, json=body | {"parent_id": comment["id"]})
        path = f"{COMMENTS}/{comment['id']}"
        assert (await api.get(path)).json() == comment
        assert (await api.delete(path)).status_code == 204
        assert (await api.get(path)).status_code == 404
        left = (await api.get(f"{COMMENTS}/{reply.json()['data']['id']}")).json()
        assert left["parent_id"] is None
        assert (await tenant.event_names()).count("comment.deleted") == 1
        writer = await key_client(tenant, "comments:read", "comments:write")
        refused = await writer.delete(f"{COMMENTS}/{left['id']}")
        assert refused.json()["error"]["code"] == "INVALID_SCOPE"

    async def test_disabled_comments_are_refused(
        self, tenant: TenantWorld, api: httpx.AsyncClient, published_post: Record
    ) -> None:
        await tenant.settings(comments_enabled=False)
        body = {"post_id": published_post["id"], "author_name": "Ann", "body": "x"}
        answer = await api.post(COMMENTS, json=body)
        assert answer.status_code == 403
        assert answer.json()["error"]["code"] == "FORBIDDEN"
        # Errors of the request itself come first.
        assert (await api.post(COMMENTS, json=body | {"body": ""})).status_code == 422

    async def test_list_filters_and_totals(
        self, tenant: TenantWorld, api: httpx.AsyncClient, published_post: Record
    ) -> None:
        other = await tenant.published(title="Other")
        for post, status in (
            (published_post, "approved"),
            (published_post, "spam"),
            (other, "spam"),
        ):
            await tenant.create(
                "comments",
                {"post_id": post["id"], "author_name": "A", "body": "b", "status": status},
            )

        async def total(**query: str) -> int:
            body = (await api.get(COMMENTS, params=query)).json()
            assert body["total"] == len(body["items"])
            return int(body["total"])

        assert await total() == 3
        assert await total(post_id=published_post["id"]) == 2
        assert await total(status="spam") == 2
        assert await total(post_id=published_post["id"], status="spam") == 1
        assert await total(post_id="nobody") == 0

    @pytest.mark.parametrize("status", ["", "nope", None, 5])
    async def test_moderation_takes_one_of_three(
        self, tenant: TenantWorld, api: httpx.AsyncClient, published_post: Record, status: Any
    ) -> None:
        comment = await tenant.create(
            "comments", {"post_id": published_post["id"], "author_name": "A", "body": "b"}
        )
        path = f"{COMMENTS}/{comment['id']}/moderate"
        assert (await api.patch(path, json={"status": status})).status_code == 422
        assert (await api.patch(path, json={})).status_code == 422


class TestMembers:
    @pytest.mark.parametrize(
        ("email", "shown"),
        [
            ("jane.doe@example.com", "j***@example.com"),
            ("j@example.com", "j***@example.com"),
            ("ömil@xn--mnchen-3ya.example", "ö***@xn--mnchen-3ya.example"),
            ("a+b@mail.example.co.uk", "a***@mail.example.co.uk"),
        ],
    )
    def test_addresses_are_masked(self, email: str, shown: str) -> None:
        assert masked(email) == shown

    async def test_list_and_totals(self, tenant: TenantWorld, api: httpx.AsyncClient) -> None:
        for number, tier in enumerate(("free", "free", "paid")):
            await tenant.create(
                "blog_members", {"email": f"reader{number}@example.com", "tier": tier}
            )
        body = (await api.get(MEMBERS)).json()
        assert body["total"] == 3
        assert "reader" not in (await api.get(MEMBERS)).text
        for item in body["items"]:
            assert item.keys() == {"id", "email", "tier", "status", "created", "updated"}
            assert item["email"] == "r***@example.com"
        assert (await api.get(MEMBERS, params={"tier": "paid"})).json()["total"] == 1
        assert (await api.get(MEMBERS, params={"tier": "gold"})).status_code == 422

    async def test_tier_and_status(self, tenant: TenantWorld, api: httpx.AsyncClient) -> None:
        member = await tenant.create("blog_members", {"email": "a@example.com", "newsletter": True})
        path = f"{MEMBERS}/{member['id']}"
        answer = await api.patch(path, json={"tier": "paid"})
        assert answer.status_code == 200
        assert answer.json()["data"]["tier"] == "paid"
        assert answer.json()["data"]["email"] == "a***@example.com"
        assert (await api.patch(path, json={"status": "cancelled"})).status_code == 200
        assert await tenant.event_names() == [
            "subscriber.added",
            "member.subscribed",
            "member.tier_changed",
            "subscriber.removed",
            "member.unsubscribed",
        ]
        for bad in ({"tier": "gold"}, {"status": ""}, {"tier": None}, {"status": 5}):
            assert (await api.patch(path, json=bad)).status_code == 422
        ignored = await api.patch(path, json={"email": "b@example.com"})
        assert ignored.json()["data"]["email"] == "a***@example.com"


class TestSiteSettings:
    async def test_secrets_are_not_among_the_fields(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        await tenant.settings(ai_api_key="sk-secret", member_payment_webhook_secret="whsec")
        answer = await api.get(SETTINGS)
        assert answer.json().keys() == {
            "id",
            "tenant_id",
            "site_name",
            "site_description",
            "site_logo",
            "site_favicon",
            "members_enabled",
            "comments_enabled",
            "created",
            "updated",
        }
        assert "secret" not in answer.text
        assert "whsec" not in answer.text
        assert answer.json()["site_logo"] is None

    async def test_changes(self, api: httpx.AsyncClient) -> None:
        answer = await api.patch(
            SETTINGS, json={"site_name": "New", "comments_enabled": False, "site_logo": None}
        )
        assert answer.status_code == 200
        assert answer.json()["data"]["site_name"] == "New"
        assert (await api.get(SETTINGS)).json()["comments_enabled"] is False

    @pytest.mark.parametrize(
        "body",
        [
            {"custom_domain": "evil.example"},
            {"ai_api_key": "x"},
            {"read_only_mode": False},
            {"slug": "x"},
            {"site_name": ""},
            {"site_name": None},
            {"site_logo": "javascript:alert(1)"},
            {"members_enabled": "yes"},
        ],
    )
    async def test_anything_else_is_refused(
        self, api: httpx.AsyncClient, body: dict[str, Any]
    ) -> None:
        answer = await api.patch(SETTINGS, json=body)
        assert answer.status_code == 422
        assert answer.json()["error"]["details"].keys() == body.keys()

    async def test_missing_settings_are_not_found(
        self, tenant: TenantWorld, api: httpx.AsyncClient, operator: Any
    ) -> None:
        settings = (await api.get(SETTINGS)).json()
        path = f"/api/collections/site_settings/records/{settings['id']}"
        assert (await operator.api.delete(path)).status_code == 204
        answer = await api.get(SETTINGS)
        assert answer.status_code == 404
        assert answer.json()["error"]["code"] == "NOT_FOUND"
