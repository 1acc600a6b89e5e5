"""Related posts: by tags and words, worked out some seconds after a change, for each reader."""

from __future__ import annotations

import re

import httpx
import pytest
import sqlalchemy as sa
from tests.features.posts.test_tags import run_jobs
from tests.features.trash.test_trash import TRASH, key_client
from tests.world import TenantWorld, World

from masthead.base import clock
from masthead.base.caller import system
from masthead.engine.records.tables import tenant_states
from masthead.features.posts.related import MOST, RelatedPosts, _Subject, nearest
from masthead.features.posts.tables import related_marks
from masthead.features.posts.tags import change_tag
from masthead.storage.database import EVERY_TENANT, scope_of

pytestmark = pytest.mark.both_databases


@pytest.fixture
async def world(tenant: TenantWorld, monkeypatch: pytest.MonkeyPatch) -> World:
    world = tenant.world
    # On a machine that has no time.
    monkeypatch.setattr(world.parts.related, "seconds", 30)
    await skip_what_is_there(world)
    return world


async def skip_what_is_there(world: World) -> None:
    """The posts of other tests are not worked out: they are of thousands of sites."""
    states, now = tenant_states.c, clock.to_text(world.clock())
    there = sa.select(states.tenant_id, states.version, sa.literal(now), sa.literal(""))
    names = ["tenant_id", "version", "updated", "post_id"]
    marks = sa.insert(related_marks).from_select(names, there)
    compile_ = world.parts.database.compile
    async with world.parts.database.transaction(EVERY_TENANT) as tx:
        await tx.execute(*compile_(sa.delete(related_marks))({}))
        await tx.execute(*compile_(marks)({}))


@pytest.fixture
def related(world: World) -> RelatedPosts:
    return world.parts.related


async def shown(
    tenant: TenantWorld, slug: str, reader: httpx.AsyncClient | None = None
) -> list[str]:
    """The addresses below a post, after the chore has run."""
    page = await (reader or tenant.guest).get(f"/posts/{slug}")
    assert page.status_code == 200
    _, _, below = page.text.partition('class="related"')
    return re.findall(r'href="/posts/([\w-]+)"', below.partition("</section>")[0])


async def worked_out(tenant: TenantWorld) -> None:
    """Also what is committed late."""
    tenant.world.clock.advance(seconds=20)
    await tenant.world.parts.related.refresh()


async def test_a_post_ends_with_others_on_its_subject(
    world: World, tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    fog = await tenant.published(title="Fog signals of the north", slug="fog", tags=["harbour"])
    await tenant.published(title="Bread", slug="bread", tags=["kitchen"])
    await tenant.published(title="Lighthouse keepers", slug="keepers", tags=["Harbour", "people"])
    await tenant.published(title="Signals at sea", slug="sea")
    await other_tenant.published(title="Fog signals", slug="theirs", tags=["harbour"])
    await tenant.post(title="Fog signals, a draft", slug="draft", tags=["harbour"])
    assert await shown(tenant, "fog") == []
    await worked_out(tenant)
    assert set(await shown(tenant, "fog")) == {"keepers", "sea"}
    assert await shown(tenant, "bread") == []
    assert await shown(other_tenant, "theirs") == []
    # A new one is in the lists of those that were there.
    new = await tenant.published(title="Soup", slug="soup", tags=["kitchen"])
    await worked_out(tenant)
    assert (await shown(tenant, "bread"), await shown(tenant, "soup")) == (["soup"], ["bread"])
    # Unpublished, published again, deleted, restored: as soon as the page is read.
    await tenant.update("posts", new["id"], {"status": "draft"})
    assert await shown(tenant, "bread") == []
    await worked_out(tenant)
    assert await world.parts.related.ids_of(tenant.id, new["id"]) == []
    await tenant.update("posts", new["id"], {"status": "published"})
    await worked_out(tenant)
    assert await shown(tenant, "bread") == ["soup"]
    owner = await tenant.owner()
    deleted = await owner.api.delete(f"/api/collections/posts/records/{new['id']}")
    assert deleted.status_code == 204
    assert await shown(tenant, "bread") == []
    await worked_out(tenant)
    await world.parts.related.sweep()
    restored = await (await key_client(tenant)).post(f"{TRASH}/{new['id']}/restore")
    assert restored.status_code == 200
    await worked_out(tenant)
    assert (await shown(tenant, "bread"), await shown(tenant, "soup")) == (["soup"], ["bread"])
    # A tag that is renamed by the admin.
    await change_tag(world.parts.records, system(tenant.id), "kitchen", "harbour")
    await run_jobs(world)
    await worked_out(tenant)
    assert fog["slug"] in await shown(tenant, "soup")
    # Off.
    await tenant.settings(related_posts=False)
    assert await shown(tenant, "fog") == []


async def test_only_what_the_reader_can_read_is_shown(world: World, tenant: TenantWorld) -> None:
    await tenant.published(title="Open", slug="open", tags=["harbour"])
    await tenant.published(title="Closed", slug="closed", tags=["harbour"], visibility="members")
    await tenant.published(title="Mailed", slug="mailed", tags=["harbour"], email_only=True)
    later = "2199-01-01T00:00:00Z"
    await tenant.published(title="Later", slug="later", tags=["harbour"], published_at=later)
    await worked_out(tenant)
    assert await shown(tenant, "open") == []
    assert await shown(tenant, "closed") == ["open"]
    member = await tenant.member()
    assert await shown(tenant, "open", member.api) == ["closed"]


async def test_further_posts_take_the_places_of_closed_ones(
    world: World, tenant: TenantWorld
) -> None:
    for slug in ("open", "first", "second", "third"):
        closed = {} if slug == "open" else {"visibility": "members"}
        await tenant.published(title="Harbour fog", slug=slug, tags=["harbour", "fog"], **closed)
    await tenant.published(title="Bread", slug="bread", tags=["harbour"])
    await worked_out(tenant)
    assert await shown(tenant, "open") == ["bread"]
    member = await tenant.member()
    assert {*await shown(tenant, "open", member.api)} == {"first", "second", "third"}


async def test_many_changes_are_worked_out_in_turns(
    world: World, tenant: TenantWorld, other_tenant: TenantWorld, related: RelatedPosts
) -> None:
    for number in range(25):
        await tenant.published(title=f"Post {number}", tags=["one"])
    first = await other_tenant.published(title="First", tags=["two"])
    await other_tenant.published(title="Second", tags=["two"])
    world.clock.advance(seconds=20)
    for _ in range(3):
        await related.refresh()
    newest = await tenant.published(title="Newest", tags=["one"])
    world.clock.advance(seconds=20)
    await related.refresh()
    assert len(await related.ids_of(tenant.id, newest["id"])) == MOST
    assert len(await related.ids_of(other_tenant.id, first["id"])) == 1
    # With nothing changed there is nothing to do.
    version = await version_of(tenant)
    await related.refresh()
    await related.refresh()
    assert await version_of(tenant) == version


async def test_the_lists_of_a_turn_are_one_change_of_the_site(
    world: World, tenant: TenantWorld
) -> None:
    # Each change makes the cached pages of the site invalid.
    posts = [await tenant.published(title=f"Post {each}", tags=["one"]) for each in range(12)]
    version = await version_of(tenant)
    await worked_out(tenant)
    assert await version_of(tenant) == version + 1
    for each in posts:
        assert await world.parts.related.ids_of(tenant.id, each["id"]) != []


async def test_a_clock_that_goes_back_hides_no_change(
    world: World, tenant: TenantWorld, related: RelatedPosts
) -> None:
    world.clock.advance(hours=2)
    early = await tenant.published(title="Fog", tags=["harbour"])
    await related.refresh()
    world.clock.advance(hours=-1)
    late = await tenant.published(title="Rain", tags=["harbour"])
    await related.refresh()
    assert await related.ids_of(tenant.id, late["id"]) == [early["id"]]


async def test_a_site_with_many_changes_does_not_hold_up_another(
    world: World, tenant: TenantWorld, other_tenant: TenantWorld, related: RelatedPosts
) -> None:
    # One post takes all the time of a run.
    related.seconds = 0
    first = await other_tenant.published(title="First", tags=["two"])
    world.clock.advance(seconds=20)
    for _ in range(3):
        await related.refresh()
    posts = [await tenant.published(title=f"Post {each}", tags=["one"]) for each in range(12)]
    world.clock.advance(seconds=15)
    await related.refresh()
    for title in ("Second", "Third"):
        new = await other_tenant.published(title=title, tags=["two"])
        for _ in range(6):
            world.clock.advance(seconds=15)
            await related.refresh()
        assert first["id"] in await related.ids_of(other_tenant.id, new["id"])
    # And it is not held up itself.
    assert await related.ids_of(tenant.id, posts[5]["id"]) != []


async def version_of(tenant: TenantWorld) -> int:
    database = tenant.world.parts.database
    own = tenant_states.c.tenant_id == tenant.id
    statement = database.compile(sa.select(tenant_states.c.version).where(own))
    [row] = await database.fetch(scope_of(tenant.id), *statement({}))
    return int(row[0])


def test_rare_tags_and_words_weigh_more_than_common_ones() -> None:
    def subject(tags: str, title: str, text: str = "") -> _Subject:
        return _Subject(*(frozenset(each.split()) for each in (tags, title, text)))

    others = {
        "common": subject("#news", "today"),
        "rare": subject("#eels", "today"),
        "words": subject("", "eels return"),
        "text": subject("", "river", "eels"),
        "nothing": subject("#news2", "other"),
        **{f"news{each}": subject("#news", "today") for each in range(20)},
    }
    found = nearest(subject("#news #eels", "eels today"), others)
    assert next(iter(found)) == "rare"
    assert "nothing" not in found
    assert len(found) == MOST


@pytest.mark.usefixtures("world")
async def test_related_posts_are_in_the_language_of_the_post(tenant: TenantWorld) -> None:
    await tenant.settings(languages=["de"])
    await tenant.published(title="Harbour", slug="harbour", tags=["sea"])
    await tenant.published(title="Hafen", slug="hafen", tags=["sea"], language="de")
    await tenant.published(title="Watt", slug="watt", tags=["sea"], language="de")
    await worked_out(tenant)
    page = (await tenant.guest.get("/de/posts/hafen")).text
    below = page.partition('class="related"')[2].partition("</section>")[0]
    assert re.findall(r'<h3><a href="([^"]+)"', below) == ["/de/posts/watt"]
    assert await shown(tenant, "harbour") == []
