"""The site of `bench.admin`: many posts of few authors with many tags, and on request members,
comments and deliveries. Created once; each run works on a copy."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from bench.data import WORDS
from masthead import clock
from masthead.app import Parts
from masthead.caller import system
from masthead.comments.collection import comments
from masthead.identity.accounts import new_credentials
from masthead.identity.plans import Plan
from masthead.identity.setup import NewTenant, create_tenant
from masthead.identity.tenants import superusers
from masthead.ids import TenantId, new_id, new_log_id
from masthead.members.collection import blog_members
from masthead.posts.collection import posts
from masthead.records.accounts import new_token_key
from masthead.records.collection import Collection, Record
from masthead.webhooks.collection import webhook_deliveries, webhook_subscriptions

SLUG = "big"
OWNER, AUTHOR = "owner@big.example", "author@big.example"
PASSWORD = "correct horse battery"
AUTHORS = 20
TAGS = 5_000
COMMON_TAG, RARE_TAG = "harbour", "seldom"
RARE_WORD = "quatrefoil"
BATCH = 500
_YEARS = timedelta(days=3 * 365)


@dataclass(frozen=True)
class Size:
    posts: int
    members: int = 0
    comments: int = 0
    deliveries: int = 0

    @property
    def name(self) -> str:
        return "-".join(str(each) for each in asdict(self).values())


async def seed(parts: Parts, size: Size) -> None:
    tenant_id = await _tenant(parts)
    staff = await _staff(parts, tenant_id)
    now = parts.records.clock()
    await _fill(parts, tenant_id, posts, _posts(size.posts, staff, now))
    await _fill(parts, tenant_id, blog_members, _members(size.members, now))
    commented = await parts.records.find(posts, {}, tenant_id=tenant_id, limit=200)
    await _fill(parts, tenant_id, comments, _comments(size.comments, commented, now))
    if size.deliveries:
        hook = await _subscribe(parts, tenant_id)
        await _fill(parts, tenant_id, webhook_deliveries, _deliveries(size.deliveries, hook, now))
    while (await parts.records.search_index.run_batch()).indexed:
        pass


async def _tenant(parts: Parts) -> TenantId:
    new = NewTenant(
        slug=SLUG, name="Big", plan=Plan.ENTERPRISE, owner_email=OWNER, owner_password=PASSWORD
    )
    return (await create_tenant(parts.records, new)).tenant_id


async def _staff(parts: Parts, tenant_id: TenantId) -> list[str]:
    credentials = await new_credentials({"password": PASSWORD}, required=True)
    found = []
    for number in range(AUTHORS):
        email = AUTHOR if number == 0 else f"author{number}@big.example"
        given = {"email": email, "name": f"Author {number}", "role": "author"}
        record = await parts.records.create(
            system(tenant_id), superusers, given, stamped=credentials
        )
        found.append(str(record["id"]))
    return found


Made = tuple[Record, dict[str, Any]]
"""What is given, and what is stamped."""


async def _fill(
    parts: Parts, tenant_id: TenantId, collection: Collection, made: Iterator[Made]
) -> None:
    while batch := list(islice(made, BATCH)):
        unit = parts.records.unit(system(tenant_id), emit_events=False)
        async with unit as opened, opened.batched_inserts():
            for given, stamped in batch:
                await opened.create(collection, given, stamped=stamped)


def _moments(count: int, now: datetime) -> Callable[[int], str]:
    """Evenly spread, the last one a minute ago."""
    step = _YEARS / max(count, 1)
    first = now - _YEARS - timedelta(minutes=1)
    return lambda number: clock.to_text(first + step * (number + 1))


def _posts(count: int, staff: list[str], now: datetime) -> Iterator[Made]:
    chance = random.Random(17)
    at = _moments(count, now)
    for number in range(count):
        moment = at(number)
        is_draft = chance.random() < 0.03
        tags = {f"tag {chance.randrange(TAGS)}", f"tag {chance.randrange(TAGS)}"}
        if chance.random() < 0.1:
            tags.add(COMMON_TAG)
        words = chance.choices(WORDS, k=120)
        if number % (count // 3 or 1) == 1:
            tags.add(RARE_TAG)
            words.append(RARE_WORD)
        given = {
            "title": f"{' '.join(chance.choices(WORDS, k=5)).capitalize()} {number}",
            "slug": f"post-{number}",
            "content_html": f"<p>{' '.join(words)}</p>",
            "excerpt": " ".join(chance.choices(WORDS, k=20)),
            "tags": sorted(tags),
            "authors": [staff[0] if chance.random() < 0.5 else chance.choice(staff)],
            "visibility": chance.choices(("public", "members", "paid"), (80, 15, 5))[0],
            "status": "draft" if is_draft else "published",
        }
        if is_draft and number % 100 == 0:
            given["scheduled_for"] = clock.to_text(now + timedelta(days=1 + number % 30))
        elif not is_draft:
            given["published_at"] = moment
        yield given, {"created": moment, "updated": moment}


def _members(count: int, now: datetime) -> Iterator[Made]:
    at = _moments(count, now)
    for number in range(count):
        given = {
            "email": f"member{number}@readers.example",
            "name": f"Member {number}",
            "tier": "paid" if number % 10 == 0 else "free",
            "newsletter": number % 2 == 0,
        }
        moment = at(number)
        yield given, {"created": moment, "updated": moment, "token_key": new_token_key()}


def _comments(count: int, commented: list[Record], now: datetime) -> Iterator[Made]:
    at = _moments(count, now)
    for number in range(count):
        given = {
            "post_id": commented[number % len(commented)]["id"],
            "author_name": f"Member {number}",
            "body": "A few words of a reader.",
            "status": "pending" if number % 50 == 0 else "approved",
        }
        moment = at(number)
        yield given, {"created": moment, "updated": moment}


async def _subscribe(parts: Parts, tenant_id: TenantId) -> str:
    given = {"name": "Board", "url": "https://hooks.big.example/", "events": ["post.published"]}
    record = await parts.records.create(
        system(tenant_id), webhook_subscriptions, given, stamped={"secret": "s" * 40}
    )
    return str(record["id"])


def _deliveries(count: int, hook: str, now: datetime) -> Iterator[Made]:
    """One in ten is dead; the others arrived."""
    step = timedelta(days=29) / max(count, 1)
    for number in range(count):
        moment = clock.to_text(now - timedelta(days=29) + step * number)
        is_dead = number % 10 == 0
        stamped = {
            "id": new_log_id(),
            "webhook_id": hook,
            "event": "post.published",
            "event_id": new_id(),
            "state": "dead" if is_dead else "delivered",
            "attempts": 6 if is_dead else 1,
            "last_status": 503 if is_dead else 200,
            "created": moment,
            "updated": moment,
        }
        yield {}, stamped
