"""Posts for chosen levels: who gets which text, on every face, and that a change of the reader's
level or of the post's follows at once."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import httpx
import pytest
from tests.faces.reader.test_access import GATED, PATHS, TEASER
from tests.features.media.test_uses import path_of, uploaded
from tests.v1.keys import key_client
from tests.world import Account, TenantWorld, World, records_of

from masthead.base import clock
from masthead.base.caller import system
from masthead.engine.records.collection import Record
from masthead.features.payments.access import end_access, end_due, give_access

TIER = {"currency": "eur", "interval": "month"}
POSTS = {"paid": (), "gold": ("gold",), "both": ("silver", "gold")}
"""Posts for paid members, by the levels that they are for."""
MAY_READ: Mapping[str, set[str]] = {
    "guest": set(),
    "free": set(),
    "paid without a level": {"paid"},
    "silver": {"paid", "both"},
    "gold": {"paid", "gold", "both"},
    "cancelled gold": set(),
    "owner": {"paid", "gold", "both"},
}


async def levels_of(tenant: TenantWorld) -> dict[str, str]:
    made = {}
    for name, price in (("silver", 500), ("gold", 900)):
        tier = await tenant.create("tiers", {**TIER, "name": name.title(), "price": price})
        made[name] = tier["id"]
    return made


async def publish(tenant: TenantWorld, levels: Mapping[str, str], text: str = "") -> list[Record]:
    found = []
    for name, names in POSTS.items():
        post = await tenant.published(
            title=name,
            tags=["news"],
            content_html=f'<p>{TEASER}</p><hr class="paywall"><p>{GATED} {name}</p>{text}',
            visibility="paid",
            tiers=[levels[each] for each in names],
        )
        comment = {"author_name": "Zoe", "body": f"{GATED} {name}", "status": "approved"}
        await tenant.create("comments", {"post_id": post["id"], **comment})
        found.append(post)
    return found


async def readers_of(
    tenant: TenantWorld, levels: Mapping[str, str]
) -> dict[str, httpx.AsyncClient]:
    gold = {"tier": "paid", "tier_id": levels["gold"]}
    return {
        "guest": tenant.guest,
        "free": (await tenant.member()).api,
        "paid without a level": (await tenant.member(tier="paid")).api,
        "silver": (await tenant.member(tier="paid", tier_id=levels["silver"])).api,
        "gold": (await tenant.member(**gold)).api,
        "cancelled gold": (await tenant.member(**gold, status="cancelled")).api,
        "owner": (await tenant.owner()).api,
    }


def gated_in(answer: httpx.Response) -> set[str]:
    return {name for name in POSTS if f"{GATED} {name}" in answer.text}


async def test_each_reader_gets_the_texts_of_their_level(tenant: TenantWorld) -> None:
    await tenant.create("_superusers", {"email": "n@example.com", "name": "Nell", "role": "author"})
    levels = await levels_of(tenant)
    await publish(tenant, levels)
    readers = await readers_of(tenant, levels)
    for _ in range(2):
        for who, client in readers.items():
            for template in PATHS:
                if "/authors/" in template:
                    continue
                for name in POSTS if "{name}" in template else [""]:
                    path = template.format(name=name)
                    answer = await client.get(path, headers={"accept": "text/html"})
                    assert answer.status_code == 200, (who, path)
                    assert gated_in(answer) <= MAY_READ[who], (who, path)
                    if "{name}" in template:
                        assert (name in gated_in(answer)) is (name in MAY_READ[who]), (who, path)
                    if template.startswith("/search"):
                        found = {each for each in POSTS if f"/posts/{each}" in answer.text}
                        assert found == MAY_READ[who], (who, path)


async def test_a_reader_without_the_level_gets_the_opening_and_its_names(
    tenant: TenantWorld,
) -> None:
    levels = await levels_of(tenant)
    await publish(tenant, levels)
    readers = await readers_of(tenant, levels)
    for who in ("guest", "free", "paid without a level"):
        page = (await readers[who].get("/posts/both")).text
        assert TEASER in page
        assert "is for members with Silver or Gold" in page, who
    assert "is for members with Gold" in (await readers["silver"].get("/posts/gold")).text
    machine = await readers["gold"].get("/posts/gold.md")
    assert "for members with Gold" in machine.text
    assert GATED not in machine.text


async def test_machines_and_the_record_store_give_no_text_of_a_level(tenant: TenantWorld) -> None:
    levels = await levels_of(tenant)
    found = await publish(tenant, levels)
    readers = await readers_of(tenant, levels)
    paths = [records_of("posts"), records_of("comments"), "/llms.txt", "/posts/gold.md"]
    paths += [records_of("posts", each["id"]) for each in found]
    paths += [f"/oembed?url=http://{tenant.host}/posts/{name}" for name in POSTS]
    paths += [records_of("tiers") + "?expand=posts_via_tiers,blog_members_via_tier_id"]
    for who, client in readers.items():
        for path in paths if who != "owner" else ():
            answer = await client.get(path)
            assert gated_in(answer) == set(), (who, path)
            # A member sees themselves.
            assert answer.text.count("@example.com") <= ("via" in path)


@pytest.mark.parametrize("by", ["posts_via_tiers.title ?~ 'gold'", "posts_via_tiers.id != ''"])
async def test_the_tiers_tell_nobody_of_their_posts(
    tenant: TenantWorld, member: Account, by: str
) -> None:
    await publish(tenant, await levels_of(tenant))
    for client in (tenant.guest, member.api):
        answer = await client.get(records_of("tiers"), params={"filter": by})
        assert answer.status_code == 400 or answer.json()["items"] == []


async def test_the_tiers_tell_nobody_of_their_members(tenant: TenantWorld, member: Account) -> None:
    levels = await levels_of(tenant)
    await tenant.member(tier="paid", tier_id=levels["gold"], email="rich@example.com")
    by = "blog_members_via_tier_id.email ?~ 'rich'"
    for client in (tenant.guest, member.api):
        answer = await client.get(records_of("tiers"), params={"filter": by})
        assert answer.status_code == 400 or answer.json()["items"] == []


async def test_what_a_reader_may_read_follows_at_once(app: World, tenant: TenantWorld) -> None:
    owner = await tenant.owner()
    item = await uploaded(owner)
    levels = await levels_of(tenant)
    [_, gold, _] = await publish(tenant, levels, f'<img src="{path_of(item)}">')
    for other in ("paid", "both"):
        [post] = await _find(app, tenant, "posts", slug=other)
        await tenant.update("posts", post["id"], {"status": "draft"})
    reader = await tenant.member()

    async def reads() -> set[bool]:
        page = await reader.api.get("/posts/gold")
        found = await reader.api.get(f"/search?q={GATED}")
        file = await reader.api.get(path_of(item))
        return {
            f"{GATED} gold" in page.text,
            "/posts/gold" in found.text,
            file.status_code == 200,
        }

    async def change(**values: Any) -> None:
        await tenant.update("blog_members", reader.id, values)

    assert await reads() == {False}
    await change(tier="paid")
    assert await reads() == {False}
    await change(tier_id=levels["silver"])
    assert await reads() == {False}
    await change(tier_id=levels["gold"])
    assert await reads() == {True}
    await tenant.update("posts", gold["id"], {"tiers": [levels["silver"]]})
    assert await reads() == {False}
    await tenant.update("posts", gold["id"], {"tiers": []})
    assert await reads() == {True}
    await tenant.update("posts", gold["id"], {"tiers": [levels["gold"]]})
    await change(tier="free")
    assert await reads() == {False}
    async with app.parts.records.unit(system(tenant.id)) as unit:
        until = clock.to_text(app.clock() + timedelta(days=3))
        await give_access(unit, reader.id, until=until, tier_id=levels["gold"])
    assert await reads() == {True}
    app.clock.advance(days=4)
    await end_due(app.parts.records)
    assert await reads() == {False}


async def _find(app: World, tenant: TenantWorld, name: str, **equals: Any) -> list[Record]:
    return await app.parts.records.find(app.collection(name), equals, tenant_id=tenant.id, limit=9)


async def test_staff_take_back_what_they_gave(app: World, tenant: TenantWorld) -> None:
    levels = await levels_of(tenant)
    await publish(tenant, levels)
    reader = await tenant.member()
    async with app.parts.records.unit(system(tenant.id)) as unit:
        until = clock.to_text(app.clock() + timedelta(days=3))
        await give_access(unit, reader.id, until=until, tier_id=levels["gold"])
    assert "gold" in gated_in(await reader.api.get("/posts/gold"))
    async with app.parts.records.unit(system(tenant.id)) as unit:
        await end_access(unit, reader.id)
    assert gated_in(await reader.api.get("/posts/gold")) == set()


async def test_v1_takes_and_shows_the_levels(tenant: TenantWorld) -> None:
    levels = await levels_of(tenant)
    api = await key_client(tenant, "posts:read", "posts:write")
    given = {"title": "New", "visibility": "paid", "tiers": [levels["gold"]]}
    made = await api.post("/api/v1/posts", json=given)
    assert made.status_code == 201, made.text
    shown = made.json()["data"]
    assert shown["tiers"] == [levels["gold"]]
    one = f"/api/v1/posts/{shown['id']}"
    refused = await api.patch(one, json={"visibility": "public"})
    assert refused.status_code == 422
    assert set(refused.json()["error"]["details"]) == {"tiers"}
    for wrong in ({"tiers": ["zzzzzzzzzzzzzzz"]}, {"tiers": ["no id"]}, {"tiers": "gold"}):
        assert (await api.patch(one, json=wrong)).status_code == 422
    public = {"title": "New", "tiers": [levels["gold"]]}
    assert (await api.post("/api/v1/posts", json=public)).status_code == 422
    freed = await api.patch(one, json={"visibility": "public", "tiers": []})
    assert freed.status_code == 200
    assert "tiers" not in freed.json()["data"]


async def test_v1_shows_a_members_level_with_personal_data(tenant: TenantWorld) -> None:
    levels = await levels_of(tenant)
    member = await tenant.member(tier="paid", tier_id=levels["gold"])
    personal = await key_client(tenant, "members:read", "members:personal")
    answer = await personal.get(f"/api/v1/members/{member.id}")
    assert answer.status_code == 200, answer.text
    shown = answer.json()
    assert (shown["tier_id"], shown["access_until"]) == (levels["gold"], None)
    anonymous = await key_client(tenant, "members:read")
    shown = (await anonymous.get(f"/api/v1/members/{member.id}")).json()
    assert "tier_id" not in shown
