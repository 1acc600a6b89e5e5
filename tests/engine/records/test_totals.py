"""Totals come from counters: after any sequence of changes they equal the rows there are."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.world import Account, TenantWorld, World, records_of

from masthead.base.caller import system

FILTERS: dict[str, list[str]] = {
    "posts": [
        "",
        "status = 'draft'",
        "status = 'published'",
        "status = 'published' && visibility = 'paid'",
        "visibility = 'members'",
        "visibility = 'public' && email_only = false",
        "email_only = true",
        "published_at <= @now",
        "status = 'published' && published_at <= @now",
        "status = 'nope'",
    ],
    "comments": [
        "",
        "status = 'spam'",
        "post_id = '{post}'",
        "post_id = '{post}' && status = 'approved'",
    ],
    "blog_members": ["", "tier = 'paid'", "tier = 'free'"],
    "orders": ["", "status = 'paid'"],
    "products": [""],
}


@pytest.mark.parametrize(
    ("seed", "steps"),
    [(0, 24), *(pytest.param(seed, 48, marks=pytest.mark.sweep) for seed in range(1, 4))],
)
async def test_any_sequence_of_changes(
    app: World, tenant: TenantWorld, owner: Account, member: Account, seed: int, steps: int
) -> None:
    chance = random.Random(seed)
    changes = _Changes(chance, owner)
    for step in range(steps):
        await changes.one()
        if chance.random() < 0.2:
            app.clock.advance(minutes=chance.randrange(90))
        if step % 6 == 5:
            for api in (owner, member):
                await _totals_are_right(api, changes.posts[-1] if changes.posts else "x" * 15)
            await _posts_total_is_right(tenant.guest, FILTERS["posts"])


class _Changes:
    """Makes, edits and deletes at random, some posts scheduled and some changes refused."""

    def __init__(self, chance: random.Random, owner: Account) -> None:
        self._chance = chance
        self._owner = owner
        self.posts: list[str] = []
        self._made: dict[str, list[str]] = {name: [] for name in FILTERS}
        self._made["posts"] = self.posts

    async def one(self) -> None:
        collection = self._chance.choice(list(FILTERS))
        made = self._made[collection]
        kind = self._chance.choice(["create", "create", "update", "delete"])
        if kind == "create" or not made:
            answer = await self._owner.api.post(records_of(collection), json=self._new(collection))
            if answer.status_code == 200:
                made.append(answer.json()["id"])
        elif kind == "update":
            path = records_of(collection, self._chance.choice(made))
            await self._owner.api.patch(path, json=self._values(collection))
        else:
            gone = made.pop(self._chance.randrange(len(made)))
            await self._owner.api.delete(records_of(collection, gone))

    def _new(self, collection: str) -> dict[str, Any]:
        number = self._chance.randrange(10_000)
        required: dict[str, dict[str, Any]] = {
            "posts": {"title": f"Post {number}"},
            "comments": {
                "post_id": self._chance.choice(self.posts or ["x" * 15]),
                "author_name": "A",
                "body": "b",
            },
            "blog_members": {"email": f"m{number % 50}@example.com"},
            "orders": {"email": "o@example.com"},
            "products": {"name": "P"},
        }
        return required[collection] | self._values(collection)

    def _values(self, collection: str) -> dict[str, Any]:
        pick = self._chance.choice
        values: dict[str, dict[str, Any]] = {
            "posts": {
                "status": pick(["draft", "published", "nope"]),
                "visibility": pick(["public", "members", "paid"]),
                "email_only": pick([True, False, False]),
                "published_at": pick(["", "", "2026-11-14T11:00:00Z", "2026-11-15T00:00:00Z"]),
            },
            "comments": {"status": pick(["approved", "pending", "spam"])},
            "blog_members": {"tier": pick(["free", "paid"]), "newsletter": pick([True, False])},
            "orders": {"status": pick(["pending", "paid", "shipped"])},
            "products": {"price": self._chance.randrange(9)},
        }
        return values[collection]


async def _totals_are_right(account: Account, post: str) -> None:
    for collection, expressions in FILTERS.items():
        for expression in expressions:
            wanted = {"filter": expression.format(post=post), "perPage": "1000", "fields": "id"}
            answer = await account.api.get(records_of(collection), params=wanted)
            if answer.status_code == 200:
                body = answer.json()
                assert body["totalItems"] == len(body["items"]), (collection, wanted)


async def _posts_total_is_right(guest: Any, expressions: list[str]) -> None:
    # Guests don't know of a flag that none of their posts has.
    for expression in (each for each in expressions if "email_only" not in each):
        wanted = {"filter": expression, "perPage": "1000", "fields": "id"}
        body = (await guest.get(records_of("posts"), params=wanted)).json()
        assert body["totalItems"] == len(body["items"]), expression


# Other tests have left long posts behind.
FEW = {"perPage": 1, "fields": "id"}


async def test_the_bare_host_counts_all_tenants(
    app: World, tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    app.clock.advance(days=1)  # beyond what other tests have published since their start
    before = (await app.client().get(records_of("posts"), params=FEW)).json()["totalItems"]
    await tenant.published()
    await other_tenant.published()
    await other_tenant.published(published_at="2030-01-01")
    after = (await app.client().get(records_of("posts"), params=FEW)).json()["totalItems"]
    assert after == before + 2


async def test_items_are_counted_in_their_order_from_a_beginning_on(
    app: World, tenant: TenantWorld
) -> None:
    records, posts, caller = app.parts.records, app.collection("posts"), system(tenant.id)
    for status, tags in (
        ("draft", ["fog", "fish"]),
        ("published", ["fog", "tide", "Fog"]),
        ("published", ["fog", "ünï"]),
    ):
        await tenant.post(status=status, tags=tags)
    gone = await tenant.post(tags=["gone"])
    await records.delete(caller, posts, gone["id"])
    everything = {"Fog": 1, "fish": 1, "fog": 3, "tide": 1, "ünï": 1}
    assert await records.counts.by_item(caller, posts, "tags", 10) == everything
    for limit in range(1, 6):
        found = await records.counts.by_item(caller, posts, "tags", limit)
        assert list(found.items()) == list(everything.items())[:limit]
    assert await records.counts.by_item(caller, posts, "tags", 10, begins="f") == {
        "fish": 1,
        "fog": 3,
    }
    assert await records.counts.by_item(caller, posts, "tags", 10, begins="fog") == {"fog": 3}
    assert await records.counts.by_item(caller, posts, "tags", 10, begins="z") == {}
    for number, tag in enumerate(everything):
        rest = dict(list(everything.items())[number + 1 :])
        assert await records.counts.by_item(caller, posts, "tags", 10, after=tag) == rest
    assert await records.counts.by_item(caller, posts, "tags", 10, begins="f", after="fish") == {
        "fog": 3
    }
