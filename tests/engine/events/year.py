"""A year on a site, in a moment: every change that means an event, through several faces."""

from __future__ import annotations

from typing import Any

from tests.world import Account, TenantWorld, records_of

from masthead.base.caller import system
from masthead.features.webhooks.actions import fire_test
from masthead.features.webhooks.collection import webhook_subscriptions
from masthead.features.webhooks.signing import new_secret


async def live_a_year(tenant: TenantWorld) -> None:
    owner = await tenant.owner()
    await _posts(tenant, owner)
    await _comments(tenant, owner)
    await _members(tenant, owner)
    await _mailings(tenant, owner)
    await _shop(tenant)
    await tenant.create("pages", {"title": "About", "status": "published"})
    page = await tenant.create("pages", {"title": "Imprint"})
    await tenant.update("pages", page["id"], {"status": "published"})
    uploaded = await owner.api.post(records_of("media"), files={"file": ("a.txt", b"text")})
    assert uploaded.status_code == 200
    await _regrets(tenant, owner, page["id"], uploaded.json()["id"])
    await _ping(tenant)


async def _posts(tenant: TenantWorld, owner: Account) -> None:
    draft = await tenant.post(title="Winter on the point")
    await delete(owner, "posts", (await tenant.post(title="Never mind"))["id"])
    await tenant.update("posts", draft["id"], {"status": "published"})
    await tenant.update(
        "posts",
        draft["id"],
        {
            "title": "Winter — “on” the point ☃",
            "slug": "winter",
            "content_html": "<p>Snow.</p>",
            "excerpt": "Snow",
            "tags": ["coast"],
            "featured_image": "/media/snow.jpg",
            "published_at": "2026-11-14T10:00:00Z",
        },
    )
    await tenant.update("posts", draft["id"], {"status": "draft"})
    await delete(owner, "posts", draft["id"])
    published = await tenant.published(title="Spring")
    await delete(owner, "posts", published["id"])
    letter = await tenant.published(title="Only for you", language="fr", email_only=True)
    await tenant.update("posts", letter["id"], {"excerpt": "A letter"})
    await tenant.update("posts", letter["id"], {"status": "draft"})
    await delete(owner, "posts", letter["id"])


async def _comments(tenant: TenantWorld, owner: Account) -> None:
    post = await tenant.published(title="Summer")
    words = {"post_id": post["id"], "author_name": "Ann", "body": "Words\nand more"}
    parent = await tenant.create("comments", words)
    answer = words | {"parent_id": parent["id"]}
    reply = await tenant.create("comments", answer | {"status": "pending"})
    await tenant.update("comments", reply["id"], {"status": "approved"})
    await delete(owner, "comments", (await tenant.create("comments", answer))["id"])
    await delete(owner, "comments", parent["id"])
    await delete(owner, "posts", post["id"])


async def _members(tenant: TenantWorld, owner: Account) -> None:
    reader = await tenant.create(
        "blog_members", {"email": "reader@example.com", "newsletter": True}
    )
    for change in (
        {"tier": "paid", "name": "Jonas", "payment_customer_id": "cus_1", "verified": True},
        {"newsletter": False},
        {"newsletter": True},
        {"status": "cancelled", "email": "jonas@example.com"},
    ):
        await tenant.update("blog_members", reader["id"], change)
    await delete(owner, "blog_members", reader["id"])
    active = await tenant.create("blog_members", {"email": "ann@example.com", "newsletter": True})
    await delete(owner, "blog_members", active["id"])


async def _mailings(tenant: TenantWorld, owner: Account) -> None:
    """One of a post, and one whose post was deleted meanwhile."""
    await tenant.create("blog_members", {"email": "mailed@example.com", "newsletter": True})
    services = tenant.world.parts.mailings
    for is_deleted in (False, True):
        post = await tenant.published(title="A letter")
        async with tenant.world.parts.records.unit(system(tenant.id)) as unit:
            mailing = await services.starting.create(unit, {"post_id": post["id"]})
        if is_deleted:
            await delete(owner, "posts", post["id"])
        async with tenant.world.parts.records.unit(system(tenant.id)) as unit:
            await services.actions.cancel(unit, mailing["id"])


async def _shop(tenant: TenantWorld) -> None:
    product = await tenant.create("products", {"name": "Tide table"})
    await tenant.update(
        "products", product["id"], {"price": 1800, "currency": "eur", "description": "2027"}
    )
    order = await tenant.create("orders", {"email": "mira@example.com", "total": 1800})
    bought: dict[str, Any] = {"items": [{"product_id": product["id"], "quantity": 1}]}
    for change in (
        {"status": "paid", "payment_id": "pay_1"} | bought,
        {"status": "shipped"},
        {"status": "refunded", "refunded_amount": 1800},
    ):
        await tenant.update("orders", order["id"], change)
    member = await tenant.create("blog_members", {"email": "mira@example.com"})
    for status in ("paid", "shipped", "refunded"):
        done = {"email": member["email"], "member_id": member["id"], "status": status}
        await tenant.create("orders", done | bought)
    cart = await tenant.create("carts", {"email": "mira@example.com"} | bought)
    await tenant.update("carts", cart["id"], {"status": "abandoned"})
    touched = {"email": "mira@example.com", "last_activity": "2026-11-13T08:02:11Z"}
    await tenant.create("carts", touched | {"status": "abandoned"} | bought)
    amount = {"code": "GIFT-1", "amount": 5000, "currency": "eur"}
    card = await tenant.create("gift_cards", amount)
    await tenant.update("gift_cards", card["id"], {"redeemed": True})
    tier = await tenant.create("tiers", {"name": "Harbour", "price": 500, "currency": "eur"})
    gift = {"kind": "membership", "tier_id": tier["id"], "months": 3, "email": "mira@example.com"}
    card = await tenant.create("gift_cards", amount | gift | {"code": "GIFT-2"})
    taken = {"redeemed": True, "redeemed_by": member["id"]}
    await tenant.update("gift_cards", card["id"], taken)


async def _regrets(tenant: TenantWorld, owner: Account, page_id: str, file_id: str) -> None:
    """Deletes records, and restores them."""
    post = await tenant.published(title="Autumn")
    words = {"post_id": post["id"], "author_name": "Ann", "body": "Leaves"}
    await tenant.create("comments", words)
    await tenant.create("comments", {**words, "status": "approved"})
    for collection, record_id in (("posts", post["id"]), ("pages", page_id), ("media", file_id)):
        await delete(owner, collection, record_id)
    trash, records = tenant.world.collection("trash"), tenant.world.parts.records
    for record_id in (post["id"], page_id, file_id):
        [entry] = await records.find(trash, {"record_id": record_id}, tenant_id=tenant.id)
        async with records.unit(system(tenant.id)) as unit:
            await unit.restore(entry["id"])


async def _ping(tenant: TenantWorld) -> None:
    """The service may not call this address."""
    parts = tenant.world.parts
    # In a unit, which skips the validator of the URL.
    async with parts.records.unit(system(tenant.id)) as unit:
        subscription = await unit.create(
            webhook_subscriptions,
            {"name": "Nobody", "url": "https://192.168.0.1/", "events": ["test.ping"]},
            stamped={"secret": new_secret()},
        )
    (subscription,) = await parts.records.find(
        webhook_subscriptions, {"id": subscription["id"]}, tenant_id=tenant.id
    )
    await fire_test(parts.records, parts.outbound, subscription)


async def delete(owner: Account, collection: str, record_id: str) -> None:
    answer = await owner.api.delete(records_of(collection, record_id))
    assert answer.status_code == 204
