"""Views: which requests are some, who is a reader, and where readers come from."""

from __future__ import annotations

import pytest
from tests.features.statistics.site import LAPTOP, PHONE, ROBOT, reader, stats, views
from tests.world import TenantWorld, World


@pytest.mark.both_databases
async def test_pages_count_each_answer_to_a_person_and_each_person_once_a_day(
    tenant: TenantWorld,
) -> None:
    post = await tenant.published(title="Fog", tags=["sea"])
    about = await tenant.create("pages", {"title": "About", "slug": "about", "status": "published"})
    ann, bo = reader(tenant), reader(tenant, browser=PHONE)
    for path in ("/", f"/posts/{post['slug']}", "/about", "/archive", "/tags/sea", "/search?q=fog"):
        assert (await ann.get(path)).status_code == 200
    await bo.get(f"/posts/{post['slug']}")
    await bo.get(f"/posts/{post['slug']}")
    assert about["id"]
    found = await stats(tenant)
    assert (found["views"], found["readers"]) == (8, 2)
    assert found["posts"] == [
        {
            "post_id": post["id"],
            "title": "Fog",
            "views": 3,
            "readers": 2,
            "joined": 0,
            "paid": 0,
        }
    ]
    assert found["sources"] == [{"source": "direct", "views": 8, "readers": 2}]


async def test_the_same_reader_counts_again_the_next_day(app: World, tenant: TenantWorld) -> None:
    ann = reader(tenant)
    await ann.get("/")
    first = app.clock().date().isoformat()
    await app.parts.views.flush()
    app.clock.advance(days=1)
    await ann.get("/")
    await ann.get("/")
    last = app.clock().date().isoformat()
    found = await stats(tenant, first, last)
    assert [(each["date"], each["views"], each["readers"]) for each in found["days"]] == [
        (first, 1, 1),
        (last, 2, 1),
    ]
    assert (found["views"], found["readers"]) == (3, 2)


async def test_another_address_or_browser_is_another_reader(tenant: TenantWorld) -> None:
    for address, browser in (("198.19.0.1", LAPTOP), ("198.19.0.1", PHONE), ("198.19.0.2", PHONE)):
        await reader(tenant, address, browser).get("/")
    assert await views(tenant) == (3, 3)


async def test_an_unchanged_page_counts_and_what_is_not_asked_for_by_a_person_does_not(
    tenant: TenantWorld,
) -> None:
    ann = reader(tenant)
    tag = (await ann.get("/")).headers["etag"]
    assert (await ann.get("/", headers={"if-none-match": tag})).status_code == 304
    assert await views(tenant) == (2, 1)
    await ann.head("/")
    for name, value in (
        ("sec-purpose", "prefetch"),
        ("sec-purpose", "prefetch;prerender"),
        ("purpose", "prefetch"),
        ("x-moz", "prefetch"),
        ("user-agent", ROBOT),
        ("user-agent", "curl/8.5.0"),
        ("user-agent", ""),
    ):
        assert (await ann.get("/", headers={name: value})).status_code == 200
    for path in ("/feed.xml", "/robots.txt", "/sitemap.xml", "/nothing-here", "/member/sign-in"):
        await ann.get(path)
    assert await views(tenant) == (2, 1)


async def test_a_request_without_a_user_agent_is_no_view(tenant: TenantWorld) -> None:
    ann = reader(tenant)
    del ann.headers["user-agent"]
    assert (await ann.get("/")).status_code == 200
    assert await views(tenant) == (0, 0)


async def test_staff_of_the_site_are_no_readers_and_members_are(
    tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    owner, member, stranger = (
        await tenant.owner(),
        await tenant.member(),
        await other_tenant.owner(),
    )
    for each in (owner, member, stranger):
        client = tenant.world.client(tenant.host, token=each.token)
        assert (await client.get("/", headers={"user-agent": LAPTOP})).status_code == 200
    assert await views(tenant) == (2, 2)


@pytest.mark.parametrize("header", ["sec-gpc", "dnt"])
async def test_whoever_asks_not_to_be_followed_is_a_view_and_no_reader(
    tenant: TenantWorld, header: str
) -> None:
    await reader(tenant).get("/", headers={header: "1"})
    assert await views(tenant) == (1, 0)
    await reader(tenant).get("/", headers={header: "0"})
    assert await views(tenant) == (2, 1)


SOURCES = [
    ("/", "", "direct"),
    ("/?utm_source=Spring Letter", "https://news.example/", "spring letter"),
    ("/?ref=Friend", "https://news.example/", "friend"),
    ("/?utm_source=&ref=friend", "", "friend"),
    ("/", "https://www.News.example:8443/a?b", "news.example"),
    ("/", "https://{host}/archive", "direct"),
    ("/", "https://www.{host}/archive", "direct"),
    ("/", "nonsense", "direct"),
    ("/", "http://[broken", "direct"),
    ("/?utm_source=" + "x" * 100, "", "x" * 80),
    ("/?utm_source=%00%ff%0a", "", "\ufffd"),
]


@pytest.mark.parametrize(("path", "referrer", "source"), SOURCES)
async def test_the_source_is_what_the_address_names_else_the_site_of_the_link(
    tenant: TenantWorld, path: str, referrer: str, source: str
) -> None:
    headers = {"referer": referrer.format(host=tenant.host)} if referrer else {}
    assert (await reader(tenant).get(path, headers=headers)).status_code == 200
    found = await stats(tenant)
    assert found["sources"] == [{"source": source, "views": 1, "readers": 1}]


@pytest.mark.both_databases
async def test_beyond_200_named_sources_a_day_the_rest_is_other(tenant: TenantWorld) -> None:
    ann = reader(tenant)
    for number in range(203):
        await ann.get(f"/?ref=site-{number:03}")
        if number == 100:
            await tenant.world.parts.views.flush()
    await ann.get("/")
    found = await stats(tenant)
    by_name = {each["source"]: each["views"] for each in found["sources"]}
    assert len(by_name) == 50
    assert by_name["other"] == 3
    assert found["sources"][0] == {"source": "other", "views": 3, "readers": 1}
    assert found["views"] == 204


async def test_a_site_that_counts_nothing_counts_nothing(tenant: TenantWorld) -> None:
    ann = reader(tenant)
    await ann.get("/")
    await tenant.settings(count_views=False)
    await ann.get("/")
    assert await views(tenant) == (1, 1)
    await tenant.settings(count_views=True)
    await ann.get("/")
    assert await views(tenant) == (2, 1)


async def test_the_page_after_a_comment_counts_too(tenant: TenantWorld) -> None:
    await tenant.settings(comments_by="everyone", comments_moderation="none")
    post = await tenant.published(title="Fog")
    ann = reader(tenant)
    form = {"body": "Well said, and true.", "name": "Ann", "email": "ann@example.com"}
    answer = await ann.post(
        f"/posts/{post['slug']}/comments",
        data=form,
        headers={"origin": f"http://{tenant.host}", "sec-fetch-site": "same-origin"},
    )
    assert answer.status_code == 303, answer.text
    assert (await ann.get(f"/posts/{post['slug']}")).headers["cache-control"].startswith("private")
    assert await views(tenant) == (1, 1)
