"""A tag that is renamed, merged or removed: on every post, in every list, and at its address."""

from __future__ import annotations

from typing import Any

import pytest
from tests.world import TenantWorld, World, records_of

from masthead.base.caller import Caller, Kind, service_of, system
from masthead.base.errors import Forbidden, Invalid, NotFound
from masthead.content.texts.editing import open_text, put_live, save_text
from masthead.engine.records.collection import Record
from masthead.engine.records.read.page import ListRequest
from masthead.features.posts import tags as changes
from masthead.features.posts.collection import POSTS
from masthead.features.posts.tag_records import tags
from masthead.features.posts.tags import change_tag, changes_under_way, tag_changes
from masthead.service.background import job_runner


async def run_jobs(app: World) -> None:
    """The change, and then the redirects that it leaves behind."""
    runner = job_runner(app.parts)
    while await runner.run_due():
        pass


async def change(tenant: TenantWorld, tag: str, new_tag: str = "") -> None:
    await change_tag(tenant.world.parts.records, service_of(tenant.id), tag, new_tag)


async def changed(tenant: TenantWorld, tag: str, new_tag: str = "") -> None:
    await change(tenant, tag, new_tag)
    await run_jobs(tenant.world)


async def totals(tenant: TenantWorld) -> dict[str, int]:
    records = tenant.world.parts.records
    found = await records.counts.by_item(
        system(tenant.id), tenant.world.collection("posts"), "tags", 100
    )
    return {tag: total for tag, total in found.items() if total}


async def stored(tenant: TenantWorld, post_id: str) -> Record:
    records, collection = tenant.world.parts.records, tenant.world.collection("posts")
    [post] = await records.find(collection, {"id": post_id}, tenant_id=tenant.id)
    return post


async def copy_of(tenant: TenantWorld, post_id: str, caller: Caller, **given: Any) -> None:
    records = tenant.world.parts.records
    opened = await open_text(records, caller, POSTS, post_id)
    await save_text(records, caller, POSTS, post_id, version=opened.version, given=given)


async def test_lists_counters_search_and_feeds_follow(app: World, tenant: TenantWorld) -> None:
    post = await tenant.published(title="Fog", tags=["sea", "harbor", "mist"])
    draft = await tenant.post(title="Draft", tags=["harbor"])
    other = await tenant.published(title="Other", tags=["sea"])
    await changed(tenant, "harbor", "harbour")
    assert (await stored(tenant, post["id"]))["tags"] == ["sea", "harbour", "mist"]
    assert (await stored(tenant, draft["id"]))["tags"] == ["harbour"]
    assert (await stored(tenant, other["id"]))["version"] == other["version"]
    assert await totals(tenant) == {"sea": 2, "harbour": 2, "mist": 1}
    assert "Fog" in (await tenant.guest.get("/tags/harbour")).text
    assert "Fog" in (await tenant.guest.get("/tags/harbour/feed.xml")).text
    posts = app.collection("posts")
    for word, found in (("harbour", 2), ("harbor", 0)):
        page = await app.parts.records.page(
            system(tenant.id), posts, ListRequest(search=word, names=frozenset({"id"}))
        )
        assert (word, page.total) == (word, found)
    owner = await tenant.owner()
    listed = (await owner.api.get(f"{records_of('posts')}?filter=tags?='harbour'")).json()
    assert listed["totalItems"] == 2


async def test_the_old_addresses_lead_to_the_new_ones(tenant: TenantWorld) -> None:
    await tenant.published(title="Fog", tags=["Sea & Fog"])
    await changed(tenant, "Sea & Fog", "Coast")
    for page in ("", "/feed.xml", "/atom.xml", "/feed.json"):
        answer = await tenant.guest.get(f"/tags/sea-fog{page}")
        assert (answer.status_code, answer.headers["location"]) == (301, f"/tags/coast{page}")
    await changed(tenant, "Coast", "Sea & Fog")
    assert (await tenant.guest.get("/tags/sea-fog")).status_code == 200
    answer = await tenant.guest.get("/tags/coast")
    assert (answer.status_code, answer.headers["location"]) == (301, "/tags/sea-fog")


async def test_an_address_that_another_tag_has_stays(tenant: TenantWorld) -> None:
    await tenant.published(title="One", tags=["C"])
    await tenant.published(title="Two", tags=["C#"])
    await changed(tenant, "C#", "Sharp")
    page = await tenant.guest.get("/tags/c")
    assert page.status_code == 200
    await changed(tenant, "C", "c")
    assert "One" in (await tenant.guest.get("/tags/c")).text


async def test_merging_leaves_each_tag_once(tenant: TenantWorld) -> None:
    both = await tenant.published(title="Both", tags=["a", "x", "b"])
    one = await tenant.published(title="One", tags=["a"])
    await changed(tenant, "a", "b")
    assert (await stored(tenant, both["id"]))["tags"] == ["b", "x"]
    assert (await stored(tenant, one["id"]))["tags"] == ["b"]
    assert await totals(tenant) == {"b": 2, "x": 1}
    assert (await tenant.guest.get("/tags/a")).status_code == 301


async def test_a_removed_tag_is_gone_from_posts_and_site(tenant: TenantWorld) -> None:
    post = await tenant.published(title="One", tags=["a", "b"])
    await changed(tenant, "a")
    assert (await stored(tenant, post["id"]))["tags"] == ["b"]
    assert (await tenant.guest.get("/tags/a")).status_code == 404


async def test_each_published_post_fires_an_event_and_none_gets_a_revision(
    tenant: TenantWorld,
) -> None:
    editor = await tenant.owner(role="editor")
    post = await tenant.published(title="One", tags=["a"])
    by = Caller(Kind.EDITOR, tenant.id, editor.id, editor.email, "_superusers")
    tenant.world.clock.advance(hours=1)
    await tenant.world.parts.records.update(
        by, tenant.world.collection("posts"), post["id"], {"excerpt": "Written"}
    )
    await tenant.post(title="Draft", tags=["a"])
    tenant.world.clock.advance(hours=1)
    before = await tenant.event_names()
    await changed(tenant, "a", "b")
    assert (await tenant.event_names())[len(before) :] == ["post.updated"]
    after = await stored(tenant, post["id"])
    assert after["edited_by"] == editor.id
    assert after["updated"] > post["updated"]
    owner = await tenant.owner()
    [revision] = (await owner.api.get(records_of("post_revisions"))).json()["items"]
    # That of the editor's own change.
    assert revision["excerpt"] == ""


async def test_working_copies_follow_and_stay_as_new_as_their_post(tenant: TenantWorld) -> None:
    editor = await tenant.owner(role="editor")
    by = Caller(Kind.EDITOR, tenant.id, editor.id, editor.email, "_superusers")
    tagged = await tenant.published(title="Tagged", tags=["a"])
    untagged = await tenant.published(title="Untagged", tags=["x"])
    await copy_of(tenant, tagged["id"], by, excerpt="Typed")
    await copy_of(tenant, untagged["id"], by, tags=["x", "a"])
    await changed(tenant, "a", "b")
    records = tenant.world.parts.records
    for post, expected in ((tagged, ["b"]), (untagged, ["x", "b"])):
        opened = await open_text(records, by, POSTS, post["id"])
        assert (opened.values["tags"], opened.is_outdated) == (expected, False)
        assert opened.copy is not None
        assert opened.copy["edited_by"] == editor.id
        live = await put_live(records, by, POSTS, post["id"], version=opened.version)
        assert live.text["tags"] == expected


async def test_a_copy_that_was_outdated_before_stays_outdated(tenant: TenantWorld) -> None:
    post = await tenant.published(title="Tagged", tags=["a"])
    by = service_of(tenant.id)
    await copy_of(tenant, post["id"], by, excerpt="Typed")
    await tenant.update("posts", post["id"], {"seo_title": "By a program"})
    await changed(tenant, "a", "b")
    opened = await open_text(tenant.world.parts.records, by, POSTS, post["id"])
    assert opened.is_outdated


async def test_it_goes_on_after_a_crash_and_a_second_run_changes_nothing(
    tenant: TenantWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "BATCH", 2)
    for number in range(5):
        await tenant.published(title=f"P{number}", tags=["a"])
    await change(tenant, "a", "b")
    records, caller = tenant.world.parts.records, system(tenant.id)
    [found] = await records.find(tag_changes, {"tag": "a"}, tenant_id=tenant.id)
    # As far as a worker came that was killed.
    await changes.change_some(records, caller, found)
    [progress] = await changes_under_way(records, caller)
    assert (progress.done, progress.total) == (2, 5)
    # Begun anew by hand: two jobs of one change.
    await change(tenant, "a", "b")
    await run_jobs(tenant.world)
    assert await totals(tenant) == {"b": 5}
    assert (await tenant.event_names()).count("post.updated") == 5
    assert await records.find(tag_changes, {"tag": "a"}, tenant_id=tenant.id) == []


async def test_changes_that_would_undo_each_other_wait(tenant: TenantWorld) -> None:
    for tag in ("a", "b", "c"):
        await tenant.post(title=tag, tags=[tag])
    await change(tenant, "a", "b")
    for tag, new_tag in (("b", "a"), ("b", "c"), ("a", "c"), ("c", "a"), ("b", "")):
        with pytest.raises(Invalid) as refused:
            await change(tenant, tag, new_tag)
        assert "is being changed" in refused.value.problems["new_tag"].message
    await change(tenant, "c", "b")
    await run_jobs(tenant.world)
    assert await totals(tenant) == {"b": 3}


@pytest.mark.parametrize("name", ["a", "x" * 101, "one, two", "nul\0"])
async def test_a_name_that_no_tag_can_have_is_refused(tenant: TenantWorld, name: str) -> None:
    await tenant.post(title="One", tags=["a"])
    with pytest.raises(Invalid) as refused:
        await change(tenant, "a", name)
    assert "new_tag" in refused.value.problems


async def test_a_tag_that_no_post_has_is_not_found(
    tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    await other_tenant.post(title="One", tags=["a"])
    with pytest.raises(NotFound):
        await change(tenant, "a", "b")


async def test_tags_that_a_migration_made_get_their_slugs(tenant: TenantWorld) -> None:
    records = tenant.world.parts.records
    made = [
        {
            **tags.default_values(),
            **{"id": f"tag{number:012}", "tenant_id": tenant.id, "name": f"Sea {number}"},
            **{"created": "2026-01-01", "updated": "2026-01-01", "version": 1},
        }
        for number in range(changes.BATCH + 1)
    ]
    async with records.unit(system(tenant.id)) as unit:
        await unit.store_copies(tags, made)
        await unit.enqueue(changes.SLUG_JOB, {})
    await run_jobs(tenant.world)
    found = await records.find(tags, {}, tenant_id=tenant.id, limit=1_000)
    assert {each["slug"] for each in found} == {f"sea-{number}" for number in range(len(made))}
    assert {each["version"] for each in found} == {1}


async def test_other_sites_keep_theirs(tenant: TenantWorld, other_tenant: TenantWorld) -> None:
    await tenant.post(title="Ours", tags=["a"])
    await other_tenant.post(title="Theirs", tags=["a"])
    await changed(tenant, "a", "b")
    assert await totals(other_tenant) == {"a": 1}


async def test_an_author_changes_no_tag(tenant: TenantWorld) -> None:
    author = await tenant.owner(role="author")
    await tenant.post(title="Mine", tags=["a"], authors=[author.id])
    by = Caller(Kind.AUTHOR, tenant.id, author.id, author.email, "_superusers")
    with pytest.raises((Forbidden, NotFound)):
        await change_tag(tenant.world.parts.records, by, "a", "b")
    path = records_of("tag_changes")
    assert (await author.api.get(path)).status_code == 403
    for account in (author, await tenant.owner(role="editor"), await tenant.owner()):
        answer = await account.api.post(path, json={"tag": "a", "new_tag": "b"})
        assert answer.status_code == 403
    await run_jobs(tenant.world)
    assert await totals(tenant) == {"a": 1}


async def test_a_read_only_site_begins_no_change(tenant: TenantWorld) -> None:
    await tenant.post(title="One", tags=["a"])
    await tenant.settings(read_only_mode=True)
    with pytest.raises(Forbidden):
        await change(tenant, "a", "b")
