"""A member with a record in every collection that may hold personal data."""

from __future__ import annotations

from typing import Any

from tests.world import Account, TenantWorld

from masthead.base import ids
from masthead.base.caller import system
from masthead.engine.records.collection import Record
from masthead.features.members.mail_log import MemberMails
from masthead.service.schema import tables

CUSTOMER = "cus_ada"


async def member_with_records(tenant: TenantWorld, email: str) -> tuple[Account, dict[str, Record]]:
    """The member, and one record of each kind by its collection."""
    member = await tenant.member(email=email, name="Ada Lovelace", payment_customer_id=CUSTOMER)
    post = await tenant.published(title="Engines")
    samples: dict[str, dict[str, Any]] = {
        "comments": {
            "post_id": post["id"],
            "author_name": "Ada Lovelace",
            "author_email": email,
            "body": f"Write to me: {email.upper()}",
        },
        "orders": {
            "email": email,
            "member_id": member.id,
            "status": "paid",
            "items": [{"name": "Book", "for": email}],
            "total": 1200,
        },
        "gift_cards": {
            "code": f"GIFT-{member.id}",
            "amount": 500,
            "email": email,
            "buyer_email": email,
            "redeemed_by": member.id,
        },
        "carts": {"email": email, "items": [{"name": "Pen"}]},
        "payment_customers": {"payment_customer_id": CUSTOMER, "member_id": member.id},
        "payment_subscriptions": {
            "payment_subscription_id": f"sub_{member.id}",
            "payment_customer_id": CUSTOMER,
            "member_id": member.id,
        },
    }
    made = {name: await tenant.create(name, values) for name, values in samples.items()}
    made["trash_items"] = await _in_the_trash(tenant, samples["comments"])
    made["gdpr_requests"] = await _asked(tenant, email)
    made["member_history"] = await _changed(tenant, member.id)
    made["member_mails"] = await _mailed(tenant, email)
    made["sign_in_links"] = await _linked(tenant, member.id)
    return member, made


async def _linked(tenant: TenantWorld, member_id: str) -> Record:
    """They sign in with a provider."""
    given = {"name": "News ID", "issuer": "https://id.example.com", "client_id": "masthead"}
    provider = await tenant.create("sign_in_providers", given)
    stamped = {
        "provider_id": provider["id"],
        "used_by": "members",
        "subject": f"ada {member_id}",
        "member_id": member_id,
    }
    links = tenant.world.collection("sign_in_links")
    return await tenant.world.parts.records.create(system(tenant.id), links, {}, stamped=stamped)


async def _in_the_trash(tenant: TenantWorld, comment: dict[str, Any]) -> Record:
    """A comment on a post that was deleted since."""
    post = await tenant.post(title="Deleted")
    await tenant.create("comments", comment | {"post_id": post["id"]})
    records = tenant.world.parts.records
    await records.delete(system(tenant.id), records.registry["posts"], post["id"])
    items = tenant.world.collection("trash_items")
    found = await records.find(items, {"type": "comments"}, tenant_id=tenant.id)
    return found[0]


async def _changed(tenant: TenantWorld, member_id: str) -> Record:
    """Changes the member, and returns what the history says of it."""
    await tenant.update("blog_members", member_id, {"tier": "paid"})
    history = tenant.world.collection("member_history")
    found = await tenant.world.parts.records.find(
        history, {"member_id": member_id}, tenant_id=tenant.id
    )
    return found[0]


async def _mailed(tenant: TenantWorld, email: str) -> Record:
    records, mails = tenant.world.parts.records, tenant.world.collection("member_mails")
    async with records.unit(system(tenant.id)) as unit:
        await MemberMails(records, tables).queued(unit, ids.new_id(), email, "sign_in")
    [member] = await records.find(
        tenant.world.collection("blog_members"), {"email": email}, tenant_id=tenant.id
    )
    found = await records.find(mails, {"member_id": member["id"]}, tenant_id=tenant.id)
    return found[0]


async def _asked(tenant: TenantWorld, email: str) -> Record:
    collection = tenant.world.collection("gdpr_requests")
    stamped = {
        "type": "export",
        "subject": "tenant",
        "status": "failed",
        "asked_by": "site",
        "notify_email": email,
    }
    records = tenant.world.parts.records
    return await records.create(system(tenant.id), collection, {}, stamped=stamped)
