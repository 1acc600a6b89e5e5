"""A post that is only emailed: on no face of the site, for nobody; staff and keys have it."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.faces.admin.visitor import staff
from tests.v1.keys import key_client
from tests.world import START, TenantWorld, World, records_of

from masthead.features.site.redirects import redirects

WORD = "letterword"
SLUG = f"{WORD}-for-you"
HEADLINE = f"Secret headline of a {WORD}"
OWN = (f"/posts/{SLUG}", f"/oembed?url=http://{{host}}/posts/{SLUG}")
"""Addresses of the post itself."""
LISTS = (
    "/",
    "/archive",
    "/tags/news",
    "/tags/news/feed.xml",
    "/tags/news/atom.xml",
    "/tags/news/feed.json",
    f"/search?q={WORD}",
    "/authors/nell",
    "/feed.xml",
    "/atom.xml",
    "/feed.json",
    "/sitemap/{month}.xml",
    records_of("posts"),
    f"{records_of('posts')}?filter=slug='{SLUG}'",
    f"{records_of('posts')}?search={WORD}",
    f"{records_of('posts')}?expand=comments_via_post_id,authors",
)
"""Where a public post is shown, to everyone."""
NEAR = f"/posts/{SLUG}s"
"""A mistyped address, whose page suggests posts."""


@pytest.fixture
async def readers(tenant: TenantWorld) -> dict[str, httpx.AsyncClient]:
    return {
        "guest": tenant.guest,
        "free": (await tenant.member()).api,
        "paid": (await tenant.member(tier="paid")).api,
    }


async def a_letter(tenant: TenantWorld, **values: Any) -> Any:
    nell = await tenant.create(
        "_superusers", {"email": "nell@example.com", "name": "Nell", "role": "author"}
    )
    # So that every list exists, and has something else in it.
    await tenant.published(title="Other", tags=["news"], authors=[nell["id"]])
    given = {
        "title": HEADLINE,
        "slug": SLUG,
        "content_html": f"<p>{WORD} text</p>",
        "tags": ["news", "rare"],
        "authors": [nell["id"]],
        "email_only": True,
    }
    post = await tenant.published(**given | values)
    words = {"author_name": "Zoe", "body": WORD, "status": "approved"}
    await tenant.create("comments", {"post_id": post["id"], **words})
    return post


def path_of(tenant: TenantWorld, template: str) -> str:
    return template.format(host=tenant.host, month=f"{START:%Y-%m}")


async def get(client: httpx.AsyncClient, path: str) -> httpx.Response:
    return await client.get(path, headers={"accept": "text/html" if "/api/" not in path else "*/*"})


@pytest.mark.parametrize("visibility", ["public", "members", "paid"])
async def test_it_is_on_no_face_of_the_site(
    tenant: TenantWorld, readers: dict[str, httpx.AsyncClient], visibility: str
) -> None:
    post = await a_letter(tenant, visibility=visibility)
    # Twice: the second time from the cache.
    for _ in range(2):
        for who, client in readers.items():
            for template in LISTS:
                path = path_of(tenant, template)
                answer = await get(client, path)
                assert answer.status_code == 200, (who, path)
                assert SLUG not in answer.text, (who, path)
                assert HEADLINE not in answer.text, (who, path)
            for template in (*OWN, NEAR, "/tags/rare", f"{records_of('posts', post['id'])}"):
                path = path_of(tenant, template)
                answer = await get(client, path)
                assert answer.status_code == 404, (who, path)
                assert HEADLINE not in answer.text, (who, path)


async def test_a_reader_can_not_comment_on_it(tenant: TenantWorld) -> None:
    await a_letter(tenant)
    form = {"author_name": "Ann", "author_email": "a@example.com", "body": "Hello"}
    answer = await tenant.guest.post(
        f"/posts/{SLUG}/comments", data=form, headers={"sec-fetch-site": "same-origin"}
    )
    assert answer.status_code == 404


async def test_turning_it_off_and_on_shows_and_hides_it_everywhere(tenant: TenantWorld) -> None:
    post = await a_letter(tenant)
    for email_only in (False, True, False):
        await tenant.update("posts", post["id"], {"email_only": email_only})
        for template in LISTS:
            answer = await get(tenant.guest, path_of(tenant, template))
            assert (SLUG in answer.text) is not email_only, template
        for template in (*OWN, "/tags/rare", records_of("posts", post["id"])):
            status = (await get(tenant.guest, path_of(tenant, template))).status_code
            assert status == (404 if email_only else 200), template
        body = (await tenant.guest.get(records_of("posts"))).json()
        assert body["totalItems"] == len(body["items"]) == (1 if email_only else 2)


async def test_totals_leave_out_those_to_come_and_those_only_emailed(
    app: World, tenant: TenantWorld
) -> None:
    later = "2026-12-24T00:00:00Z"
    for email_only in (False, True):
        for at in ("", later):
            await tenant.published(email_only=email_only, published_at=at, title="Tide")
    for total in (1, 2):
        body = (await tenant.guest.get(records_of("posts"))).json()
        assert body["totalItems"] == len(body["items"]) == total
        app.clock.advance(days=60)
        # A page is cached until something changes; the time of a post to come has passed.
        await tenant.post(title="Draft")


async def test_staff_and_keys_have_it(tenant: TenantWorld) -> None:
    post = await a_letter(tenant)
    api = await key_client(tenant)
    listed = (await api.get("/api/v1/posts?status=published")).json()["items"]
    assert [each.get("email_only") for each in listed] == [True, None]
    assert (await api.get(f"/api/v1/posts/{post['id']}")).json()["email_only"] is True
    found = (await api.get(f"/api/v1/posts?q={WORD}&tag=rare")).json()
    assert [each["id"] for each in found["items"]] == [post["id"]]
    owner = await tenant.owner()
    stored = (await owner.api.get(records_of("posts", post["id"]))).json()
    assert stored["email_only"] is True
    assert stored["visibility"] == "public"
    shown = (await owner.api.get(records_of("posts") + "?filter=email_only=true")).json()
    assert [each["id"] for each in shown["items"]] == [post["id"]]
    assert shown["totalItems"] == 1
    public = (await tenant.guest.get(records_of("posts"))).json()["items"]
    assert all("email_only" not in each for each in public)


async def test_v1_takes_it_and_shows_it_only_where_it_is_true(tenant: TenantWorld) -> None:
    api = await key_client(tenant)
    made = await api.post("/api/v1/posts", json={"title": "Letter", "email_only": True})
    assert made.status_code == 201
    assert made.json()["data"]["email_only"] is True
    path = f"/api/v1/posts/{made.json()['data']['id']}"
    changed = await api.patch(path, json={"email_only": False})
    assert changed.status_code == 200
    assert "email_only" not in changed.text
    for wrong in ("yes", 1, None):
        refused = await api.patch(path, json={"email_only": wrong})
        assert refused.status_code == 422, wrong
        assert "email_only" in refused.text


async def test_its_events_say_so(tenant: TenantWorld) -> None:
    await tenant.published(title="Page")
    await tenant.published(title="Letter", email_only=True)
    published = [payload for name, payload in await tenant.events() if name == "post.published"]
    assert [each.get("email_only") for each in published] == [None, True]


@pytest.mark.parametrize(
    ("before", "after", "leads"),
    [(True, True, 0), (True, False, 0), (False, True, 0), (False, False, 1)],
)
async def test_an_address_without_a_page_is_not_redirected(
    tenant: TenantWorld, before: bool, after: bool, leads: int
) -> None:
    post = await tenant.published(slug="old", email_only=before)
    await tenant.update("posts", post["id"], {"slug": "new", "email_only": after})
    records = tenant.world.parts.records
    assert len(await records.find(redirects, {}, tenant_id=tenant.id)) == leads


async def test_staff_see_its_preview_and_no_link_to_the_site(tenant: TenantWorld) -> None:
    post = await a_letter(tenant)
    editor, _ = await staff(tenant, "editor")
    own = f"/admin/posts/{post['id']}"
    preview = await editor.get(f"{own}/preview/page?as=guest")
    assert preview.status_code == 200
    assert f"{WORD} text" in preview.text
    for path in (own, f"{own}?as=html"):
        assert "View on site" not in (await editor.get(path)).text
    assert "Everyone, by email" in (await editor.get("/admin/posts")).text
    await tenant.update("posts", post["id"], {"email_only": False})
    assert "View on site" in (await editor.get(own)).text


async def test_the_switch_of_the_form_waits_for_update(tenant: TenantWorld) -> None:
    post = await tenant.published(title="Tide", slug="tide", content_html="<p>Tide</p>")
    editor, _ = await staff(tenant, "editor")
    own = f"/admin/posts/{post['id']}"
    page = (await editor.get(f"{own}?as=html")).text
    assert 'name="email_only"' in page
    version = page.split('name="version" value="')[1].split('"')[0]
    form = {"version": version, "title": "Tide", "has_email_only": "1", "email_only": "on"}
    saved = await editor.post(own, form | {"action": "review"})
    dialog = await editor.follow(saved)
    assert "Its address will show “Not found”." in dialog
    assert (await get(tenant.guest, "/posts/tide")).status_code == 200
    hidden = {
        name: dialog.split(f'name="{name}" value="')[1].split('"')[0]
        for name in ("version", "said")
    }
    done = await editor.post(f"{own}/publish", hidden | {"what": "update"})
    assert done.status_code == 303, done.text
    assert (await get(tenant.guest, "/posts/tide")).status_code == 404
    assert "only those who get the email can read it" in (await editor.get(f"{own}/publish")).text
