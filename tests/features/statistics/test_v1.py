"""`GET /api/v1/stats`: its parameters, every day of them, and whose numbers they are."""

from __future__ import annotations

from typing import Any

import pytest
from tests.features.statistics.site import reader, stats
from tests.v1.keys import key_client
from tests.world import TenantWorld, World

DAY = "2026-11-14"


async def test_every_day_is_there_and_the_totals_are_the_sum_of_the_days(
    app: World, tenant: TenantWorld
) -> None:
    ann = reader(tenant)
    for _ in range(3):
        await ann.get("/")
        await app.parts.views.flush()
        app.clock.advance(days=2)
    found = await stats(tenant, "2026-11-10", "2026-11-20")
    dates = [each["date"] for each in found["days"]]
    assert dates == [f"2026-11-{day}" for day in range(10, 21)]
    assert [each["views"] for each in found["days"]] == [0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0]
    for name in ("views", "readers", "joined", "paid"):
        assert found[name] == sum(each[name] for each in found["days"])
    assert (found["from"], found["to"]) == ("2026-11-10", "2026-11-20")
    assert (await stats(tenant, "2026-11-15", "2026-11-15"))["views"] == 0


async def test_the_numbers_of_one_post(tenant: TenantWorld) -> None:
    fog, other = await tenant.published(title="Fog"), await tenant.published(title="Other")
    ann = reader(tenant)
    for post in (fog, fog, other):
        await ann.get(f"/posts/{post['slug']}")
    found = await stats(tenant, post_id=fog["id"])
    assert (found["views"], found["readers"], found["sources"]) == (2, 1, [])
    assert [each["post_id"] for each in found["posts"]] == [fog["id"]]
    assert found["posts"][0]["views"] == found["days"][0]["views"] == 2


async def test_who_joined_and_who_paid_on_a_day(app: World, tenant: TenantWorld) -> None:
    await tenant.member(tier="paid")
    member = await tenant.member()
    await tenant.update("blog_members", member.id, {"tier": "paid"})
    await tenant.update("blog_members", member.id, {"name": "Ann"})
    found = await stats(tenant)
    assert (found["joined"], found["paid"]) == (2, 2)


async def test_posts_that_were_deleted_have_no_title(tenant: TenantWorld) -> None:
    post = await tenant.published(title="Fog")
    await reader(tenant).get(f"/posts/{post['slug']}")
    await tenant.world.parts.views.flush()
    api = await key_client(tenant)
    assert (await api.delete(f"/api/v1/posts/{post['id']}")).status_code == 204
    assert [each["title"] for each in (await stats(tenant))["posts"]] == [""]


WRONG: list[tuple[dict[str, str], str]] = [
    ({}, "from to"),
    ({"to": DAY}, "from"),
    ({"from": DAY}, "to"),
    ({"from": "2026-11-15", "to": DAY}, "from"),
    ({"from": "2025-11-13", "to": DAY}, "to"),
    ({"from": "20261114", "to": DAY}, "from"),
    ({"from": "2026-02-30", "to": DAY}, "from"),
    ({"from": "yesterday", "to": DAY}, "from"),
    ({"from": "", "to": DAY}, "from"),
    ({"from": DAY, "to": "2026-W46-6"}, "to"),
    ({"from": DAY, "to": DAY, "post_id": "nonsense"}, "post_id"),
    ({"from": DAY, "to": DAY, "post_id": "abcdefghij12345"}, "post_id"),
    ({"from": DAY, "to": DAY, "post_id": "\x00"}, "post_id"),
]


@pytest.mark.parametrize(("query", "names"), WRONG)
async def test_a_wrong_parameter_is_named(
    tenant: TenantWorld, query: dict[str, Any], names: str
) -> None:
    answer = await (await key_client(tenant)).get("/api/v1/stats", params=query)
    assert answer.status_code == 422, answer.text
    assert list(answer.json()["error"]["details"]) == names.split()


async def test_366_days_are_shown(tenant: TenantWorld) -> None:
    assert len((await stats(tenant, "2025-11-14", DAY))["days"]) == 366


async def test_a_post_of_another_site_is_unknown_and_so_are_its_numbers(
    tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    theirs = await other_tenant.published(title="Theirs")
    await reader(other_tenant).get(f"/posts/{theirs['slug']}")
    api = await key_client(tenant)
    query = {"from": DAY, "to": DAY, "post_id": theirs["id"]}
    assert (await api.get("/api/v1/stats", params=query)).status_code == 422
    found = await stats(tenant)
    assert (found["views"], found["posts"], found["sources"]) == (0, [], [])
