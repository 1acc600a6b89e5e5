"""The site of `bench.admin`: many posts of few authors with many tags, and on request members,
comments and deliveries. Created once; each run works on a copy.

Records are made by the engine, in units of many, so that counters and indexes are those of real
use. Only the log of deliveries is written in bulk, as the worker does.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from bench import admin_deliveries, admin_operated, admin_readers
from bench.admin_fill import Made, fill, moments
from bench.data import WORDS
from masthead.base import clock
from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.features.posts.collection import posts
from masthead.identity.given_passwords import new_credentials
from masthead.identity.limits.plans import Plan
from masthead.identity.setup import NewTenant, create_operator, create_tenant
from masthead.identity.tenants import superusers
from masthead.service.services import Services

SLUG = "big"
OWNER, AUTHOR, OPERATOR = "owner@big.example", "author@big.example", "operator@big.example"
EDITOR = "editor@big.example"
ACCOUNTS = {"owner": OWNER, "author": AUTHOR, "editor": EDITOR, "operator": OPERATOR}
PASSWORD = "correct horse battery"
AUTHORS = 20
TAGS = 5_000
COMMON_TAG, RARE_TAG = "harbour", "seldom"
RARE_WORD = "quatrefoil"


@dataclass(frozen=True)
class Size:
    posts: int
    members: int = 0
    comments: int = 0
    deliveries: int = 0

    @property
    def name(self) -> str:
        return "-".join(str(each) for each in asdict(self).values())


Names = dict[str, str]
"""The ids of records in addresses, by the samples of `tests/faces/admin/every_page.py`."""


async def seed(parts: Services, size: Size) -> Names:
    tenant_id = await _tenant(parts)
    staff = await _staff(parts, tenant_id)
    await create_operator(parts.records, OPERATOR, PASSWORD)
    now = parts.records.clock()
    await fill(parts, tenant_id, posts, _posts(size.posts, staff, now))
    newest = await parts.records.find(posts, {}, tenant_id=tenant_id, limit=1)
    names = {"posts": newest[0]["id"], "_superusers": staff[0], "tenants": str(tenant_id)}
    names |= await admin_readers.seed(parts, tenant_id, size.members, size.comments)
    names |= await admin_deliveries.seed(parts, tenant_id, size.deliveries)
    names |= await admin_operated.seed(parts, tenant_id, staff, size.posts)
    while (await parts.records.search_index.run_batch()).indexed:
        pass
    return names


async def _tenant(parts: Services) -> TenantId:
    new = NewTenant(
        slug=SLUG, name="Big", plan=Plan.ENTERPRISE, owner_email=OWNER, owner_password=PASSWORD
    )
    return (await create_tenant(parts.records, new)).tenant_id


async def _staff(parts: Services, tenant_id: TenantId) -> list[str]:
    credentials = await new_credentials({"password": PASSWORD}, required=True)
    found = []
    for number in range(AUTHORS):
        email = {0: AUTHOR, 1: EDITOR}.get(number, f"author{number}@big.example")
        role = "editor" if number == 1 else "author"
        given = {"email": email, "name": f"Author {number}", "role": role}
        record = await parts.records.create(
            system(tenant_id), superusers, given, stamped=credentials
        )
        found.append(str(record["id"]))
    return found


def _posts(count: int, staff: list[str], now: datetime) -> Iterator[Made]:
    chance = random.Random(17)
    at = moments(count, now)
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
