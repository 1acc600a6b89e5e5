"""Members, what they wrote and what they bought, for `bench.admin`.

A few members and guests write most of the comments, a few posts and labels have most of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import datetime

from bench.admin_fill import BATCH, Made, fill, moments
from bench.data import WORDS
from masthead.base.caller import system
from masthead.base.ids import TenantId, new_id
from masthead.engine.records.accounts import new_token_key
from masthead.features.comments.collection import comments
from masthead.features.commerce.collection import gift_cards, orders, products
from masthead.features.members.collection import blog_members
from masthead.features.payments.collection import tiers
from masthead.features.posts.collection import posts
from masthead.features.privacy.validation import RequestBody, Requester
from masthead.service.services import Services

COMMON_LABEL, RARE_LABEL = "label 0", "seldom"
GUEST = "guest0@guests.example"
"""Wrote more than any other guest."""
LABELS = 60
_NAMES = ("Ana", "Bo", "Cees", "Dora", "Emre", "Fay", "Gus", "Hana", "Ivo", "Jun", "Kim", "Lou")
_COMMENTED_POSTS = 2_000
_GUESTS = 5_000


async def seed(parts: Services, tenant_id: TenantId, members: int, written: int) -> dict[str, str]:
    now = parts.records.clock()
    people = [str(new_id()) for _ in range(members)]
    await fill(parts, tenant_id, blog_members, _members(people, now))
    found = await parts.records.find(posts, {}, tenant_id=tenant_id, limit=_COMMENTED_POSTS)
    on = [str(each["id"]) for each in found]
    said = [str(new_id()) for _ in range(written)]
    await fill(parts, tenant_id, comments, _comments(said, on, people, now))
    bought = [str(new_id()) for _ in range(members // 5)]
    await fill(parts, tenant_id, orders, _orders(bought, people, now))
    cards = [str(new_id()) for _ in range(members // 50)]
    await fill(parts, tenant_id, gift_cards, _gift_cards(cards, now))
    names = await _offers(parts, tenant_id)
    # The member who has written and bought most, and the newest of the others.
    for name, ids, place in (
        ("blog_members", people, 0),
        ("comments", said, -1),
        ("orders", bought, -1),
        ("gift_cards", cards, -1),
    ):
        if ids:
            names[name] = ids[place]
    if people:
        names["gdpr_requests"] = await _export(parts, tenant_id, people[0])
    return names


def _skewed(chance: random.Random, count: int, power: int = 3) -> int:
    """Low numbers far more often than high ones."""
    return int(count * chance.random() ** power)


def _members(ids: Sequence[str], now: datetime) -> Iterator[Made]:
    chance = random.Random(18)
    at = moments(len(ids), now)
    for number, member_id in enumerate(ids):
        is_paid = chance.random() < 0.08
        labels = {f"label {_skewed(chance, LABELS)}" for _ in range(chance.choice((0, 0, 1, 3)))}
        if number % (len(ids) // 3 or 1) == 1:
            labels.add(RARE_LABEL)
        statuses = (90, 4, 6) if is_paid else (97, 3, 0)
        given = {
            "id": member_id,
            "email": f"member{number}@readers.example",
            "name": f"{chance.choice(_NAMES)} {chance.choice(WORDS).capitalize()} {number}",
            "tier": "paid" if is_paid else "free",
            "status": chance.choices(("active", "cancelled", "past_due"), statuses)[0],
            "newsletter": chance.random() < 0.6,
            "labels": sorted(labels),
        }
        moment = at(number)
        yield given, {"created": moment, "updated": moment, "token_key": new_token_key()}


def _comments(
    ids: Sequence[str], on: Sequence[str], people: Sequence[str], now: datetime
) -> Iterator[Made]:
    chance = random.Random(19)
    at = moments(len(ids), now)
    begun: list[tuple[str, str]] = []
    """Threads, with their posts."""
    for number, comment_id in enumerate(ids):
        post_id, parent_id = on[_skewed(chance, len(on))], ""
        # One that is stored: those of the last unit may not be.
        if len(begun) > 2 * BATCH and chance.random() < 0.3:
            parent_id, post_id = begun[-BATCH - chance.randrange(BATCH)]
        if not parent_id:
            begun.append((comment_id, post_id))
        given = {
            "id": comment_id,
            "post_id": post_id,
            "parent_id": parent_id,
            "body": " ".join(chance.choices(WORDS, k=chance.randrange(5, 80))).capitalize(),
            "status": chance.choices(("approved", "pending", "spam"), (90, 2, 8))[0],
        }
        moment = at(number)
        stamped = {"created": moment, "updated": moment}
        if people and chance.random() < 0.6:
            place = _skewed(chance, len(people), 4)
            given["author_name"] = f"{_NAMES[place % len(_NAMES)]} {place}"
            stamped["member_id"] = people[place]
        else:
            guest = _skewed(chance, _GUESTS)
            given["author_name"] = f"{_NAMES[guest % len(_NAMES)]} {guest}"
            given["author_email"] = f"guest{guest}@guests.example"
        yield given, stamped


def _orders(ids: Sequence[str], people: Sequence[str], now: datetime) -> Iterator[Made]:
    chance = random.Random(20)
    at = moments(len(ids), now)
    statuses = ("paid", "shipped", "pending", "refunded", "cancelled")
    for number, order_id in enumerate(ids):
        place = _skewed(chance, len(people), 4)
        price = chance.randrange(100, 9_000)
        given = {
            "id": order_id,
            "email": f"member{place}@readers.example",
            "member_id": people[place],
            "status": chance.choices(statuses, (40, 45, 5, 3, 7))[0],
            "items": [{"name": "A tide clock", "quantity": 1, "price": price}],
            "total": price,
            "currency": "eur",
            "payment_id": f"pi_{number}",
        }
        moment = at(number)
        yield given, {"created": moment, "updated": moment}


def _gift_cards(ids: Sequence[str], now: datetime) -> Iterator[Made]:
    chance = random.Random(21)
    at = moments(len(ids), now)
    for number, card_id in enumerate(ids):
        given = {
            "id": card_id,
            "code": f"HARBOUR-{number:08}",
            "amount": 5_000,
            "currency": "eur",
            "email": f"guest{_skewed(chance, _GUESTS)}@guests.example",
            "redeemed": chance.random() < 0.5,
        }
        moment = at(number)
        yield given, {"created": moment, "updated": moment}


async def _offers(parts: Services, tenant_id: TenantId) -> dict[str, str]:
    priced = {"price": 900, "currency": "eur"}
    caller, records = system(tenant_id), parts.records
    for number in range(40):
        product = await records.create(caller, products, {"name": f"Map {number}", **priced})
    tier = {"name": "Friend", "interval": "month", **priced}
    return {
        "products": str(product["id"]),
        "tiers": str((await records.create(caller, tiers, tier))["id"]),
    }


async def _export(parts: Services, tenant_id: TenantId, member_id: str) -> str:
    site = await parts.directory.by_id(tenant_id)
    assert site is not None
    requester = Requester(site, system(tenant_id), is_trusted=True)
    body = RequestBody("member", member_id, tenant_id, "", "", "")
    request, _ = await parts.privacy.exports.begin(requester, body)
    return str(request["id"])
