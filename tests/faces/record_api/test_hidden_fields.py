"""A caller can't guess a field that it can't read: a filter, sort or expand on it is answered as on
a field that does not exist, so no list, order or total tells its value."""

from __future__ import annotations

import httpx
import pytest
from tests.world import TenantWorld, World, records_of

from masthead.engine.records.fields.base import Access
from masthead.service.schema import registry

GUEST_POSTS = (
    "tenant_id",
    "version",
    "tenant_id.slug",
    "tenant_id.owner_id.email",
    "tenant_id.owner_id.password_hash",
    "comments_via_post_id.body",
    "comments_via_post_id.author_email",
    "comments_via_post_id.post_id.title",
    "password_hash",
)
MEMBER_MEMBERS = (
    "tenant_id",
    "password_hash",
    "token_key",
    "version",
    "orders_via_member_id.total",
    "orders_via_member_id.email",
    "payment_customers_via_member_id.payment_customer_id",
    "payment_subscriptions_via_member_id.status",
    "tenant_id.plan",
)
OWNER_PATHS = (
    ("blog_members", "password_hash"),
    ("blog_members", "token_key"),
    ("_superusers", "password_hash"),
    ("_superusers", "token_key"),
    ("api_keys", "key_hash"),
    ("webhook_subscriptions", "secret"),
    ("webhook_deliveries", "webhook_id.secret"),
    ("site_settings", "member_payment_webhook_secret"),
    ("site_settings", "ai_api_key"),
    ("gdpr_requests", "token_hash"),
    ("media", "sha256"),
    ("comments", "first_approved_at"),
    ("orders", "member_id.password_hash"),
    ("orders", "member_id.token_key"),
    ("posts", "tenant_id.owner_id.token_key"),
    ("posts", "comments_via_post_id.first_approved_at"),
)
FILTERS = ("{} = 'a'", "{} ~ 'a'", "{} != ''", "{} ?= 'a'", "'a' < {}", "{} = null", "id = {}")


@pytest.mark.parametrize("path", GUEST_POSTS)
async def test_a_guest_on_posts(tenant: TenantWorld, path: str) -> None:
    post = await tenant.published()
    await tenant.create("comments", {"post_id": post["id"], "author_name": "a", "body": "a"})
    await _answers_as_unknown(tenant.guest, "posts", path)


@pytest.mark.parametrize("path", MEMBER_MEMBERS)
async def test_a_member_on_members(tenant: TenantWorld, path: str) -> None:
    member = await tenant.member()
    await tenant.create("orders", {"email": "a@example.com", "member_id": member.id})
    await _answers_as_unknown(member.api, "blog_members", path)


@pytest.mark.parametrize(("collection", "path"), OWNER_PATHS)
async def test_an_owner_on_secrets(tenant: TenantWorld, collection: str, path: str) -> None:
    owner = await tenant.owner()
    await _answers_as_unknown(owner.api, collection, path)


async def test_an_operator_reads_no_secret_either(app: World) -> None:
    operator = await app.operator()
    await _answers_as_unknown(operator.api, "_superusers", "password_hash")
    items = (await operator.api.get(records_of("_superusers"))).json()["items"]
    assert items
    assert not any({"password_hash", "token_key"} & item.keys() for item in items)


async def test_no_answer_has_fields_that_only_the_engine_may_read(tenant: TenantWorld) -> None:
    owner = await tenant.owner()
    await tenant.member()
    await tenant.create(
        "webhook_subscriptions",
        {"name": "w", "url": "https://x.example/", "events": ["post.created"]},
    )
    await tenant.settings(ai_api_key="sk-very-secret", member_payment_webhook_secret="whsec")
    for collection in registry.collections:
        hidden = {each.name for each in collection.all_fields if each.read is Access.ENGINE}
        answer = await owner.api.get(records_of(collection.name), params={"perPage": "1000"})
        assert "sk-very-secret" not in answer.text
        assert not any(hidden & item.keys() for item in answer.json()["items"])


async def _answers_as_unknown(api: httpx.AsyncClient, collection: str, path: str) -> None:
    steps = path.split(".")
    unknown = ".".join(["zz"] * len(steps))  # as deep, and in no collection
    for template in FILTERS:
        await _same(api, collection, "filter", template, path, unknown)
    for template in ("{}", "-{}", "created,{}"):
        await _same(api, collection, "sort", template, path, unknown)


async def _same(
    api: httpx.AsyncClient, collection: str, name: str, template: str, path: str, unknown: str
) -> None:
    address = records_of(collection)
    hidden = await api.get(address, params={name: template.format(path)})
    nothing = await api.get(address, params={name: template.format(unknown)})
    assert hidden.status_code == nothing.status_code == 400, template
    assert hidden.text.replace(path, "?") == nothing.text.replace(unknown, "?")
