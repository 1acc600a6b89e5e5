"""Who gets which text: every page, feed and cached answer of the reader's site, for everyone."""

from __future__ import annotations

import re

import httpx
import pytest
from tests.world import TenantWorld, World, records_of

GATED = "Gatedwordofthepost"
TEASER = "Teaserbeforethewall"
TEXTS = {
    "open": {"visibility": "public"},
    "members": {"visibility": "members"},
    "paid": {"visibility": "paid"},
}
PATHS = (
    "/",
    "/archive",
    "/tags/news",
    "/posts/{name}",
    "/posts/{name}?x=1",
    f"/search?q={GATED}",
    "/feed.xml",
    "/atom.xml",
    "/feed.json",
    "/tags/news/feed.xml",
    "/sitemap.xml",
    "/robots.txt",
    "/authors/nell",
    "/member/tiers",
)
MAY_READ = {
    "guest": {"open"},
    "free": {"open", "members"},
    "paid": {"open", "members", "paid"},
    "cancelled": {"open", "members"},
    "other site's paid": {"open"},
    "owner": {"open", "members", "paid"},
}


@pytest.fixture
async def readers(app: World, tenant: TenantWorld) -> dict[str, httpx.AsyncClient]:
    other = await app.new_tenant()
    theirs = await other.member(tier="paid")
    stranger = app.client(tenant.host)
    stranger.headers["authorization"] = theirs.api.headers["authorization"]
    return {
        "guest": tenant.guest,
        "free": (await tenant.member()).api,
        "paid": (await tenant.member(tier="paid")).api,
        "cancelled": (await tenant.member(tier="paid", status="cancelled")).api,
        "other site's paid": stranger,
        "owner": (await tenant.owner()).api,
    }


@pytest.mark.parametrize("with_marker", [pytest.param(False, marks=pytest.mark.sweep), True])
async def test_the_gated_text_is_exactly_where_it_may_be(
    tenant: TenantWorld, readers: dict[str, httpx.AsyncClient], with_marker: bool
) -> None:
    nell = await tenant.create(
        "_superusers", {"email": "nell@example.com", "name": "Nell", "role": "author"}
    )
    marker = '<hr class="paywall">' if with_marker else ""
    await tenant.create("tiers", {"name": "Supporter", "price": 400, "currency": "gbp"})
    for name, values in TEXTS.items():
        post = await tenant.published(
            title=name,
            tags=["news"],
            authors=[nell["id"]],
            content_html=f"<p>{TEASER}</p>{marker}<p>{GATED} {name}</p>",
            **values,
        )
        # What readers wrote about a text may repeat it.
        comment = {"author_name": "Zoe", "body": f"{GATED} {name}", "status": "approved"}
        await tenant.create("comments", {"post_id": post["id"], **comment})
    # Twice: the second time from the cache.
    for _ in range(2):
        for who, client in readers.items():
            for name in TEXTS:
                await _check(client, who, name, with_marker=with_marker)


async def _check(client: httpx.AsyncClient, who: str, name: str, *, with_marker: bool) -> None:
    for template in PATHS:
        path = template.format(name=name)
        answer = await client.get(path, headers={"accept": "text/html"})
        assert answer.status_code == 200, (who, path)
        is_feed = "feed" in path or "atom" in path
        allowed = {"open"} if is_feed else MAY_READ[who]
        for other in TEXTS:
            if f"{GATED} {other}" in answer.text:
                assert other in allowed, (who, path, other)
        if template.startswith("/posts/"):
            assert (f"{GATED} {name}" in answer.text) is (name in MAY_READ[who]), (who, path)
            shows_teaser = with_marker or name in MAY_READ[who]
            assert (TEASER in answer.text) is shows_teaser, (who, path)
        if template.startswith("/search"):
            found = {each for each in TEXTS if f"/posts/{each}" in answer.text}
            assert found == MAY_READ[who], (who, path)


async def test_machines_and_the_record_store_get_public_texts_only(
    tenant: TenantWorld, readers: dict[str, httpx.AsyncClient]
) -> None:
    for name, values in TEXTS.items():
        text = f"<p>{GATED} {name}</p>"
        post = await tenant.published(title=name, content_html=text, **values)
        comment = {"author_name": "Zoe", "body": f"{GATED} {name}", "status": "approved"}
        await tenant.create("comments", {"post_id": post["id"], **comment})
    paths = [records_of("posts"), records_of("comments")]
    paths += [f"/oembed?url=http://{tenant.host}/posts/{name}" for name in TEXTS]
    for who, client in readers.items():
        for path in paths:
            answer = await client.get(path)
            found = {name for name in TEXTS if f"{GATED} {name}" in answer.text}
            assert who == "owner" or found <= {"open"}, (who, path, found)


async def test_a_summary_never_begins_a_gated_text(tenant: TenantWorld) -> None:
    await tenant.published(title="closed", visibility="paid", content_html=f"<p>{GATED}</p>")
    for path in ("/", "/archive", "/posts/closed", "/feed.xml", "/feed.json"):
        assert GATED not in (await tenant.guest.get(path)).text


async def test_what_other_sites_show_of_a_post_depends_on_its_open_parts_only(
    tenant: TenantWorld,
) -> None:
    """The share picture, whose address names all that is drawn, the head of its page, oEmbed: the
    same for two texts that differ behind the wall, and without a word of either."""

    async def shown() -> tuple[list[str], str, bytes]:
        page = (await tenant.guest.get("/posts/closed")).text
        head = page.partition("</head>")[0]
        [address] = re.findall(r'property="og:image" content="[^"]*(/share/[^"]+)"', head)
        embedded = await tenant.guest.get(f"/oembed?url=http://{tenant.host}/posts/closed")
        picture = await tenant.guest.get(address)
        assert picture.headers["content-type"] == "image/png"
        assert GATED not in page + embedded.text
        said = re.findall(r'<meta (?:property|name)="(?:og|twitter|description)[^>]*>', head)
        return [*said, address], embedded.text, picture.content

    html = f'<p>{TEASER}</p><hr class="paywall"><p>{GATED} {{}}</p>'
    post = await tenant.published(
        title="closed", visibility="paid", content_html=html.format("one")
    )
    first = await shown()
    await tenant.update("posts", post["id"], {"content_html": html.format("two, and longer")})
    assert await shown() == first


async def test_a_member_who_pays_reads_at_once_and_until_it_ends(tenant: TenantWorld) -> None:
    await tenant.published(title="closed", visibility="paid", content_html=f"<p>{GATED}</p>")
    member = await tenant.member()
    for tier, is_open in (("free", False), ("paid", True), ("free", False)):
        await tenant.update("blog_members", member.id, {"tier": tier})
        answer = await member.api.get("/posts/closed")
        assert (GATED in answer.text) is is_open


async def test_the_site_shows_no_more_of_a_record_than_its_rules_name(
    tenant: TenantWorld,
) -> None:
    post = await tenant.published(title="x")
    await tenant.create(
        "comments",
        {"post_id": post["id"], "author_name": "A", "author_email": "a@b.example", "body": "hi"},
    )
    for path in ("/", "/posts/x", "/feed.json"):
        text = (await tenant.guest.get(path)).text
        assert "a@b.example" not in text
        assert tenant.id not in text.replace(f"tag:{tenant.id}", "")


async def test_the_record_store_stays_as_it_is(tenant: TenantWorld) -> None:
    await tenant.published(title="closed", visibility="members", content_html=f"<p>{GATED}</p>")
    member = await tenant.member(tier="paid")
    assert (await member.api.get(records_of("posts"))).json()["items"] == []
