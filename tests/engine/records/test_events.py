"""Which events a change means: every change of every collection, and those that mean none."""

from __future__ import annotations

from typing import Any

import pytest
from tests.world import TenantWorld, records_of

from masthead.base.caller import system
from masthead.service.schema import registry

POST = {"title": "Hello"}
PUBLISHED = POST | {"status": "published"}
MEMBER = {"email": "reader@example.com"}
READER = MEMBER | {"newsletter": True}
ORDER = {"email": "buyer@example.com", "total": 5}
CART = {"email": "buyer@example.com", "items": [1]}
JOINED = ["subscriber.added", "member.subscribed"]
LEFT = ["subscriber.removed", "member.unsubscribed"]

CREATED: list[tuple[str, dict[str, Any], list[str]]] = [
    ("posts", POST, ["post.created"]),
    ("posts", PUBLISHED, ["post.created", "post.published"]),
    ("pages", {"title": "About"}, []),
    ("pages", {"title": "About", "status": "published"}, ["page.published"]),
    ("categories", {"name": "News"}, []),
    ("blog_members", MEMBER, []),
    ("blog_members", READER, JOINED),
    ("blog_members", READER | {"status": "cancelled"}, []),
    ("products", {"name": "Mug"}, ["product.created"]),
    ("orders", ORDER, []),
    ("orders", ORDER | {"status": "paid"}, ["order.paid"]),
    ("carts", CART, []),
    ("gift_cards", {"code": "GIFT-1"}, ["gift_card.issued"]),
    ("payment_products", {"payment_product_id": "prod_1"}, []),
]
UPDATED: list[tuple[str, dict[str, Any], dict[str, Any], list[str]]] = [
    ("posts", POST, {"title": "New"}, []),
    ("posts", POST, {"status": "published"}, ["post.published"]),
    ("posts", PUBLISHED, {"title": "New"}, ["post.updated"]),
    ("posts", PUBLISHED, {"title": "New", "status": "draft"}, ["post.unpublished"]),
    ("posts", PUBLISHED, {"status": "published"}, []),
    ("posts", PUBLISHED, {}, []),
    ("pages", {"title": "About"}, {"status": "published"}, ["page.published"]),
    ("pages", {"title": "About", "status": "published"}, {"title": "Us"}, []),
    ("blog_members", MEMBER, {"newsletter": True}, JOINED),
    ("blog_members", READER, {"newsletter": False}, LEFT),
    ("blog_members", READER, {"status": "cancelled"}, LEFT),
    ("blog_members", READER, {"status": "cancelled", "newsletter": False}, LEFT),
    ("blog_members", MEMBER, {"tier": "paid"}, ["member.tier_changed"]),
    ("blog_members", READER, {"name": "Ann"}, []),
    ("blog_members", READER, {"tier": "paid", "newsletter": False}, [*LEFT, "member.tier_changed"]),
    ("products", {"name": "Mug"}, {"price": 5}, ["product.updated"]),
    ("orders", ORDER, {"status": "paid"}, ["order.paid"]),
    ("orders", ORDER | {"status": "paid"}, {"status": "shipped"}, ["order.shipped"]),
    ("orders", ORDER | {"status": "paid"}, {"status": "refunded"}, ["order.refunded"]),
    ("orders", ORDER | {"status": "paid"}, {"refunded_amount": 2}, []),
    ("carts", CART, {"status": "abandoned"}, ["cart.abandoned"]),
    ("carts", CART, {"status": "paid"}, []),
    ("gift_cards", {"code": "GIFT-1"}, {"redeemed": True}, ["gift_card.redeemed"]),
    ("gift_cards", {"code": "GIFT-1"}, {"email": "mira@example.com"}, []),
]
DELETED: list[tuple[str, dict[str, Any], list[str]]] = [
    ("posts", POST, ["post.deleted"]),
    ("posts", PUBLISHED, ["post.deleted"]),
    ("pages", {"title": "About", "status": "published"}, []),
    ("blog_members", READER, LEFT),
    ("blog_members", MEMBER, LEFT),
    ("products", {"name": "Mug"}, []),
    ("orders", ORDER | {"status": "paid"}, []),
    ("gift_cards", {"code": "GIFT-1"}, []),
]


@pytest.mark.parametrize(("collection", "values", "expected"), CREATED)
async def test_creating(
    tenant: TenantWorld, collection: str, values: dict[str, Any], expected: list[str]
) -> None:
    await tenant.create(collection, values)
    assert await tenant.event_names() == expected


@pytest.mark.parametrize(("collection", "before", "change", "expected"), UPDATED)
async def test_updating(
    tenant: TenantWorld,
    collection: str,
    before: dict[str, Any],
    change: dict[str, Any],
    expected: list[str],
) -> None:
    record = await tenant.create(collection, before)
    already = len(await tenant.events())
    await tenant.update(collection, record["id"], change)
    assert (await tenant.event_names())[already:] == expected


@pytest.mark.parametrize(("collection", "values", "expected"), DELETED)
async def test_deleting(
    tenant: TenantWorld, collection: str, values: dict[str, Any], expected: list[str]
) -> None:
    record = await tenant.create(collection, values)
    already = len(await tenant.events())
    owner = await tenant.owner()
    assert (await owner.api.delete(records_of(collection, record["id"]))).status_code == 204
    assert (await tenant.event_names())[already:] == expected


class TestComments:
    @pytest.fixture
    async def comment(self, tenant: TenantWorld) -> dict[str, str]:
        post = await tenant.published()
        return {"post_id": post["id"], "author_name": "Ann", "body": "words"}

    async def test_an_approved_one(self, tenant: TenantWorld, comment: dict[str, str]) -> None:
        already = len(await tenant.events())
        await tenant.create("comments", comment)
        assert (await tenant.event_names())[already:] == [
            "comment.posted",
            "comment.approved",
            "comment.received",
        ]

    async def test_the_received_event_fires_once(
        self, tenant: TenantWorld, comment: dict[str, str]
    ) -> None:
        already = len(await tenant.events())
        made = await tenant.create("comments", comment | {"status": "pending"})
        for status in ("approved", "spam", "approved", "approved"):
            await tenant.update("comments", made["id"], {"status": status})
        assert (await tenant.event_names())[already:] == [
            "comment.posted",
            "comment.approved",
            "comment.received",
            "comment.approved",
        ]

    async def test_deleting_a_post_deletes_its_comments(
        self, tenant: TenantWorld, comment: dict[str, str]
    ) -> None:
        parent = await tenant.create("comments", comment)
        await tenant.create("comments", comment | {"parent_id": parent["id"]})
        already = len(await tenant.events())
        owner = await tenant.owner()
        await owner.api.delete(records_of("posts", comment["post_id"]))
        names = (await tenant.event_names())[already:]
        assert names == ["comment.deleted", "comment.deleted", "post.deleted"]


async def test_an_upload(tenant: TenantWorld) -> None:
    owner = await tenant.owner()
    await owner.api.post(records_of("media"), files={"file": ("a.txt", b"text")})
    ((name, payload),) = await tenant.events()
    assert name == "media.uploaded"
    assert (payload["filename"], payload["size"]) == ("a.txt", 4)


async def test_the_payload_of_a_published_post(tenant: TenantWorld) -> None:
    post = await tenant.published(title="Hello")
    _, (name, payload) = await tenant.events()
    assert name == "post.published"
    expected = {
        "post_id": post["id"],
        "title": "Hello",
        "slug": "hello",
        "published_at": post["published_at"],
        "tenant_id": tenant.id,
    }
    assert payload | expected == payload


async def test_a_refused_change_leaves_no_event(tenant: TenantWorld) -> None:
    await tenant.post(slug="taken")
    already = await tenant.events()
    owner = await tenant.owner()
    for sent in ({"title": "x", "slug": "taken"}, {"title": ""}):
        assert (await owner.api.post(records_of("posts"), json=sent)).status_code == 400
    assert await tenant.events() == already


async def test_a_unit_without_events_writes_none(tenant: TenantWorld) -> None:
    records = tenant.world.parts.records
    async with records.unit(system(tenant.id), emit_events=False) as unit:
        await unit.create(registry["posts"], PUBLISHED)
    assert await tenant.events() == []
