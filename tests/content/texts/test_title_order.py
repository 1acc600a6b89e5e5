"""Lists by title are in the order of letters, on both databases and in every face."""

from __future__ import annotations

from random import Random

import pytest
from tests.content.texts.test_clean_text import change_row, stored
from tests.features.privacy.requests import run_jobs
from tests.v1.keys import key_client
from tests.v1.test_sorted_lists import walked
from tests.world import Account, TenantWorld, records_of

from masthead.base.caller import system
from masthead.content.texts.jobs import ORDER_JOB, handlers
from masthead.engine.jobs.runner import Job, Stopped

IN_ORDER = [
    *("100", "Ähre", "apple", "Boot", "École", "Émile", "Łódź", "„Nebel“", "Zebra", "zoo"),
    *("أحمد", "باب", "カキ", "がっこう", "コーヒー", "東京"),
]


@pytest.fixture
async def shelf(tenant: TenantWorld) -> TenantWorld:
    for title in Random(1).sample(IN_ORDER, len(IN_ORDER)):
        await tenant.post(title=title)
    return tenant


async def in_record_store(account: Account, sort: str, **query: str) -> list[str]:
    found = []
    for page in ("1", "2", "3"):
        given = {"sort": sort, "perPage": "7", "page": page, **query}
        answer = await account.api.get(records_of("posts"), params=given)
        assert answer.status_code == 200, answer.text
        found += [each["title"] for each in answer.json()["items"]]
    return found


@pytest.mark.both_databases
async def test_in_both_apis_and_both_directions(shelf: TenantWorld) -> None:
    api, owner = await key_client(shelf), await shelf.owner()
    for sort, wanted in (("title", IN_ORDER), ("-title", IN_ORDER[::-1])):
        assert [each["title"] for each in await walked(api, sort=sort)] == wanted
        assert await in_record_store(owner, sort) == wanted
    # Filters go on comparing code points, and so does the order of small letters.
    assert await in_record_store(owner, "title", filter="title < 'a'") == ["100", "Boot", "Zebra"]
    lowered = await in_record_store(owner, "title:lower")
    assert lowered == sorted(
        IN_ORDER, key=lambda title: title.lower() if title.isascii() else title
    )


async def test_through_a_relation(shelf: TenantWorld) -> None:
    owner = await shelf.owner()
    for title in ("Zebra", "Ähre", "apple"):
        found = await owner.api.get(records_of("posts"), params={"filter": f"title = '{title}'"})
        comment = {"post_id": found.json()["items"][0]["id"], "author_name": "A", "body": title}
        await shelf.create("comments", comment)
    listed = await owner.api.get(records_of("comments"), params={"sort": "post_id.title"})
    assert [each["body"] for each in listed.json()["items"]] == ["Ähre", "apple", "Zebra"]


async def test_a_new_title_has_another_place_and_a_restored_post_its_own(
    tenant: TenantWorld,
) -> None:
    api = await key_client(tenant)
    made = {title: await tenant.post(title=title) for title in ("Ähre", "Boot", "zoo")}
    await tenant.update("posts", made["Boot"]["id"], {"title": "Österreich"})
    await tenant.update("posts", made["zoo"]["id"], {"excerpt": "Animals"})
    in_order = ["Ähre", "Österreich", "zoo"]
    assert [each["title"] for each in await walked(api, sort="title")] == in_order
    await api.delete(f"/api/v1/posts/{made['Boot']['id']}")
    restored = await api.post(f"/api/v1/trash/{made['Boot']['id']}/restore")
    assert restored.status_code == 200, restored.text
    assert [each["title"] for each in await walked(api, sort="title")] == in_order


@pytest.fixture
async def earlier(tenant: TenantWorld) -> list[str]:
    """Posts whose keys are not made yet, as after an upgrade; their ids."""
    made = [(await tenant.post(title=title))["id"] for title in ("zoo", "apple", "Ähre", "Boot")]
    for each in made:
        await change_row(tenant, each, title_letters="")
    return made


@pytest.mark.both_databases
async def test_a_list_without_keys_is_whole_in_the_order_of_ids(
    tenant: TenantWorld, earlier: list[str]
) -> None:
    api = await key_client(tenant)
    for sort, wanted in (("title", sorted(earlier)), ("-title", sorted(earlier)[::-1])):
        assert [each["id"] for each in await walked(api, sort=sort)] == wanted


@pytest.mark.both_databases
async def test_a_cursor_stays_where_its_post_was(tenant: TenantWorld) -> None:
    api = await key_client(tenant)
    made = {title: await tenant.post(title=title) for title in ("apple", "Boot", "zoo")}
    first = await api.get("/api/v1/posts", params={"sort": "title", "per_page": "1"})
    await tenant.update("posts", made["apple"]["id"], {"title": "zzz"})
    following = await api.get(first.links["next-cursor"]["url"])
    assert [each["title"] for each in following.json()["items"]] == ["Boot"]


@pytest.mark.both_databases
async def test_texts_of_an_earlier_release_get_their_keys(
    tenant: TenantWorld, earlier: list[str]
) -> None:
    api = await key_client(tenant)
    told = await tenant.event_names()
    before = [await stored(tenant, each) for each in earlier]
    async with tenant.world.parts.records.unit(system(tenant.id)) as unit:
        await unit.enqueue("texts.order", {})
    await run_jobs(tenant.world)
    in_order = ["Ähre", "apple", "Boot", "zoo"]
    assert [each["title"] for each in await walked(api, sort="title")] == in_order
    assert [await stored(tenant, each) for each in earlier] == before
    assert await tenant.event_names() == told


async def test_a_worker_that_ends_leaves_the_keys_to_the_next(
    tenant: TenantWorld, earlier: list[str]
) -> None:
    parts, api = tenant.world.parts, await key_client(tenant)
    order = handlers(parts.records, [tenant.world.collection("posts")])[ORDER_JOB]
    with pytest.raises(Stopped):
        await order(Job(tenant.id, "", ORDER_JOB, {}, 1, lambda: True))
    assert [each["id"] for each in await walked(api, sort="title")] == sorted(earlier)
