"""Answers for programs: feeds, oEmbed, share pictures, structured data, `/.well-known`."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import feedparser
import jsonschema
import msgspec
import pytest
from PIL import Image
from tests.faces.reader.test_pages import page
from tests.features.media.test_copies import keys, photo, uploaded
from tests.features.privacy.requests import run_jobs
from tests.world import Account, TenantWorld, World

from masthead.base.caller import system
from masthead.faces.reader import share_card
from masthead.service.app import http_app

SECRET = "the-gated-words"

ADDRESS = {"type": "string", "pattern": "^https?://"}
WORDS = {"type": "string", "minLength": 1}
MOMENT = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$"}
JSON_FEED = {
    "type": "object",
    "required": ["version", "title", "items"],
    "additionalProperties": False,
    "properties": {
        "version": {"const": "https://jsonfeed.org/version/1.1"},
        "title": WORDS,
        "home_page_url": ADDRESS,
        "feed_url": ADDRESS,
        "description": {"type": "string"},
        "language": WORDS,
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "url"],
                "anyOf": [{"required": ["content_html"]}, {"required": ["content_text"]}],
                "additionalProperties": False,
                "properties": {
                    "id": WORDS,
                    "url": ADDRESS,
                    "title": WORDS,
                    "summary": WORDS,
                    "content_html": WORDS,
                    "content_text": {"type": "string"},
                    "image": ADDRESS,
                    "date_published": MOMENT,
                    "date_modified": MOMENT,
                    "tags": {"type": "array", "items": WORDS},
                    "authors": {
                        "type": "array",
                        "items": {"type": "object", "required": ["name"]},
                    },
                },
            },
        },
    },
}
"""https://www.jsonfeed.org/version/1.1/, as far as we use it."""


@pytest.fixture
async def magazine(tenant: TenantWorld) -> TenantWorld:
    author = await tenant.create(
        "_superusers", {"email": "nell@example.com", "name": "Nell & Söhne", "role": "author"}
    )
    await tenant.published(
        title="Fog & <signals>",
        slug="fog",
        content_html='<p>Thick “fog” &amp; more.</p><img src="/media/a.png" alt=""><hr>',
        excerpt="What it says.",
        tags=["Long Reads", "harbour"],
        authors=[author["id"]],
        featured_image="https://pictures.example/fog.jpg",
    )
    await tenant.published(
        title="Behind the door",
        slug="door",
        visibility="paid",
        tags=["Long Reads"],
        content_html=f'<p>Open part.</p><hr class="paywall"><p>{SECRET}</p>',
    )
    await tenant.published(title="Empty", slug="empty", tags=["Long Reads"])
    return tenant


async def test_no_address_sets_a_cookie_for_a_guest(magazine: TenantWorld) -> None:
    for path in (
        *("/", "/posts/fog", "/posts/door", "/tags/harbour", "/archive", "/search?q=fog"),
        *("/nothing", "/feed.xml", "/feed.json", "/sitemap.xml", "/robots.txt"),
    ):
        answer = await magazine.guest.get(path)
        assert "set-cookie" not in answer.headers, path


@pytest.mark.parametrize(
    ("path", "status"),
    [("/", 200), ("/posts/fog", 200), ("/nothing", 404), ("/admin/sign-in", 200)],
)
@pytest.mark.parametrize("encoding", ["identity", "gzip"])
async def test_the_headers_of_head_are_those_of_get(
    magazine: TenantWorld, path: str, status: int, encoding: str
) -> None:
    headers = {"accept": "text/html", "accept-encoding": encoding}
    answers = [
        await magazine.guest.request(method, path, headers=headers) for method in ("GET", "HEAD")
    ]
    get, head = [
        {name: value for name, value in answer.headers.items() if name != "x-request-id"}
        for answer in answers
    ]
    assert answers[1].status_code == status
    assert int(head["content-length"]) > 0
    # The form of the sign-in has a token of its own each time.
    assert head == get or path == "/admin/sign-in"


@pytest.mark.parametrize(
    "path",
    ["/", "/posts/fog", "/tags/harbour", "/archive", "/search?q=fog", "/member/sign-in"],
)
async def test_every_page_names_the_feeds_of_the_site(magazine: TenantWorld, path: str) -> None:
    found = re.findall(
        r'<link rel="alternate" type="([^"]+)" [^>]*href="([^"]+)"', await page(magazine, path)
    )
    feeds = [(kind, address) for kind, address in found if "oembed" not in kind]
    site = [
        ("application/rss+xml", "/feed.xml"),
        ("application/atom+xml", "/atom.xml"),
        ("application/feed+json", "/feed.json"),
    ]
    own = [("application/rss+xml", "/tags/harbour/feed.xml")] if "tags" in path else []
    assert feeds == own + site


async def test_open_graph_names_the_site_apart_from_the_page(magazine: TenantWorld) -> None:
    name = re.search(r'og:site_name" content="([^"]+)"', await page(magazine, "/"))
    assert name is not None
    titles = {"/": name[1], "/posts/fog": "Fog &amp; &lt;signals&gt;", "/archive": "Archive"}
    for path, title in titles.items():
        assert f'<meta property="og:title" content="{title}">' in await page(magazine, path)


class TestFeeds:
    @pytest.mark.parametrize("path", ["/feed.xml", "/atom.xml"])
    @pytest.mark.parametrize("folder", ["", "/tags/long-reads"])
    async def test_a_feed_reader_has_nothing_to_complain_about(
        self, magazine: TenantWorld, folder: str, path: str
    ) -> None:
        answer = await magazine.guest.get(folder + path)
        # The bytes as they came, with the type that came with them.
        found = feedparser.parse(
            answer.content, response_headers={"content-type": answer.headers["content-type"]}
        )
        assert not found.bozo, found.get("bozo_exception")
        assert found.version == ("rss20" if path == "/feed.xml" else "atom10")
        assert [each.title for each in found.entries][-1] == "Fog & <signals>"
        fog = found.entries[-1]
        assert fog.link.endswith("/posts/fog")
        assert {each.term for each in fog.tags} == {"Long Reads", "harbour"}
        assert "Nell & Söhne" in fog.author
        assert "Thick “fog”" in fog.content[0].value
        assert fog.published_parsed is not None
        assert len({each.id for each in found.entries}) == 3
        assert SECRET not in answer.text

    @pytest.mark.parametrize("folder", ["", "/tags/long-reads"])
    async def test_the_json_feed_has_the_shape_of_its_version(
        self, magazine: TenantWorld, folder: str
    ) -> None:
        answer = await magazine.guest.get(f"{folder}/feed.json")
        assert answer.headers["content-type"].startswith("application/feed+json")
        jsonschema.validate(answer.json(), JSON_FEED)
        assert len(answer.json()["items"]) == 3
        assert SECRET not in answer.text


class TestStructuredData:
    async def test_a_post_is_a_blog_posting(self, magazine: TenantWorld) -> None:
        data = _structured(await page(magazine, "/posts/fog"))
        assert data["@context"] == "https://schema.org"
        assert data["@type"] == "BlogPosting"
        assert data["headline"] == "Fog & <signals>"
        jsonschema.validate(
            data,
            {
                "required": ["headline", "author", "publisher", "datePublished", "image", "url"],
                "properties": {
                    "url": ADDRESS,
                    "image": ADDRESS,
                    "mainEntityOfPage": ADDRESS,
                    "datePublished": MOMENT,
                    "dateModified": MOMENT,
                    "isAccessibleForFree": {"type": "boolean"},
                    "keywords": {"type": "array", "items": WORDS},
                    "publisher": {"required": ["@type", "name", "url"]},
                    "author": {
                        "type": "array",
                        "minItems": 1,
                        "items": {"required": ["@type", "name"]},
                    },
                },
            },
        )

    async def test_a_gated_post_says_so(self, magazine: TenantWorld) -> None:
        assert _structured(await page(magazine, "/posts/door"))["isAccessibleForFree"] is False

    async def test_the_home_page_is_a_web_site(self, magazine: TenantWorld) -> None:
        data = _structured(await page(magazine, "/"))
        assert data["@type"] == "WebSite"
        jsonschema.validate(data, {"required": ["name", "url"], "properties": {"url": ADDRESS}})


def _structured(text: str) -> dict[str, Any]:
    [found] = re.findall(r'<script type="application/ld\+json">(.*?)</script>', text, re.S)
    data: dict[str, Any] = json.loads(found)
    return data


class TestEmbedding:
    async def test_another_site_learns_how_to_embed_a_post(self, magazine: TenantWorld) -> None:
        text = await page(magazine, "/posts/fog")
        [found] = re.findall(
            r'<link rel="alternate" type="application/json\+oembed" [^>]*href="([^"]+)"', text
        )
        answer = await magazine.guest.get("/oembed?" + found.partition("?")[2])
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json; charset=utf-8"
        body = answer.json()
        assert body["version"] == "1.0"
        assert body["type"] == "rich"
        assert body["title"] == "Fog & <signals>"
        assert body["author_name"] == "Nell & Söhne"
        assert body["width"] == 600
        assert body["height"] > 0
        assert "Fog &amp; &lt;signals&gt;</a>" in body["html"]
        assert "<script" not in body["html"]

    async def test_a_gated_text_is_not_embedded(self, magazine: TenantWorld) -> None:
        url = await _url_of(magazine, "door")
        answer = await magazine.guest.get(f"/oembed?url={quote(url, safe='')}&format=json")
        assert answer.status_code == 200
        assert SECRET not in answer.text

    async def test_a_width_that_is_asked_for_is_not_exceeded(self, magazine: TenantWorld) -> None:
        url = quote(await _url_of(magazine, "fog"), safe="")
        for given, width in (("320", 320), ("9999", 600), ("x", 600), ("²", 600)):
            answer = await magazine.guest.get(f"/oembed?url={url}&maxwidth={given}")
            assert answer.json()["width"] == width

    @pytest.mark.parametrize(
        "url",
        ["", "x", "http://[", "https://other.example/posts/fog", "/posts/fog", "{}/about", "{}/p"],
    )
    async def test_other_addresses_are_not_found(self, magazine: TenantWorld, url: str) -> None:
        base = (await _url_of(magazine, "fog")).removesuffix("/posts/fog")
        given = quote(url.replace("{}", base), safe="")
        assert (await magazine.guest.get(f"/oembed?url={given}")).status_code == 404

    async def test_a_draft_is_not_found(self, tenant: TenantWorld) -> None:
        await tenant.published(title="Fog")
        await tenant.post(title="Draft", slug="draft")
        url = (await _url_of(tenant, "fog")).replace("/fog", "/draft")
        assert (await tenant.guest.get(f"/oembed?url={quote(url)}")).status_code == 404

    async def test_xml_is_not_there(self, magazine: TenantWorld) -> None:
        url = quote(await _url_of(magazine, "fog"), safe="")
        answer = await magazine.guest.get(f"/oembed?url={url}&format=xml")
        assert answer.status_code == 501
        assert "etag" not in answer.headers


async def _url_of(tenant: TenantWorld, slug: str) -> str:
    text = await page(tenant, f"/posts/{slug}")
    [found] = re.findall(r'<link rel="canonical" href="([^"]+)"', text)
    return str(found)


def _shared(text: str) -> str:
    found = re.findall(r'<meta property="og:image" content="([^"]+)"', text)
    return found[0] if found else ""


class TestSharePictures:
    async def test_a_post_without_a_picture_gets_one_drawn(self, tenant: TenantWorld) -> None:
        await tenant.published(title="Fog")
        text = await page(tenant, "/posts/fog")
        address = _shared(text)
        assert 'og:image:width" content="1200"' in text
        assert 'content="summary_large_image"' in text
        answer = await tenant.guest.get("/share/" + address.split("/share/")[1])
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "image/png"
        assert Image.open(io.BytesIO(answer.content)).size == (1200, 630)

    async def test_its_address_changes_with_the_title(
        self, app: World, tenant: TenantWorld
    ) -> None:
        post = await tenant.published(title="Fog")
        old = "/share/" + _shared(await page(tenant, "/posts/fog")).split("/share/")[1]
        first = (await tenant.guest.get(old)).content
        await tenant.update("posts", post["id"], {"title": "Thick fog"})
        new = "/share/" + _shared(await page(tenant, "/posts/fog")).split("/share/")[1]
        assert new != old
        moved = await tenant.guest.get(old)
        assert (moved.status_code, moved.headers["location"]) == (302, new)
        assert (await tenant.guest.get(new)).content != first
        assert [key for key in await keys(tenant) if key.endswith(".png")] == [
            new.rpartition("/")[2]
        ]

    async def test_it_goes_with_the_post(self, app: World, tenant: TenantWorld) -> None:
        post = await tenant.published(title="Fog")
        address = "/share/" + _shared(await page(tenant, "/posts/fog")).split("/share/")[1]
        assert (await tenant.guest.get(address)).status_code == 200
        await app.parts.records.delete(system(tenant.id), app.collection("posts"), post["id"])
        await run_jobs(app)
        assert (await tenant.guest.get(address)).status_code == 404
        assert await keys(tenant) == []

    @pytest.mark.parametrize("digest", ["0" * 16, "x", "%2e%2e", "a" * 300])
    async def test_only_the_current_one_is_drawn(self, tenant: TenantWorld, digest: str) -> None:
        await tenant.published(title="Fog")
        answer = await tenant.guest.get(f"/share/fog/{digest}.png")
        assert answer.status_code in (302, 404)
        assert await keys(tenant) == []

    async def test_a_draft_has_none(self, tenant: TenantWorld) -> None:
        await tenant.post(title="Draft", slug="draft")
        answer = await tenant.guest.get("/share/draft/0123456789abcdef.png")
        assert answer.status_code == 404

    async def test_where_the_fonts_have_no_glyphs_there_is_none(self, tenant: TenantWorld) -> None:
        await tenant.settings(site_name="潮汐")
        await tenant.published(title="誰が風を所有するのか", slug="kaze")
        assert _shared(await page(tenant, "/posts/kaze")) == ""

    async def test_a_large_picture_is_shared_in_a_smaller_size(
        self, app: World, tenant: TenantWorld, owner: Account
    ) -> None:
        item = await uploaded(owner, photo((1250, 625)))
        url = f"/media/{item['id']}/{item['file']}"
        await tenant.published(title="Fog", featured_image=url)
        await run_jobs(app)
        text = await page(tenant, "/posts/fog")
        assert _shared(text).endswith(f"{url}?thumb=1200x0")
        assert 'og:image:height" content="600"' in text

    @pytest.mark.parametrize(
        "title",
        [
            "Fog",
            "x" * 255,
            "word " * 60,
            "Кто владеет ветром?",
            "Ποιος 🙂 έχει τον άνεμο",
            "Ai sở hữu gió?",
            "誰が風を",
            "من يملك الريح",
            "\u202eabc\x00",
            "e\u0301" * 50,
        ],
    )
    def test_any_name_and_title_can_be_drawn(self, title: str) -> None:
        drawn = share_card.draw(title, title, "#ffff00")
        assert Image.open(io.BytesIO(drawn)).size == share_card.SIZE
        assert len(drawn) < 200_000


class TestWellKnown:
    async def test_the_operators_contact_is_in_security_txt(self, app: World) -> None:
        settings = replace(app.parts.settings, security_contact="mailto:security@example.com")
        client = app.client(
            "localhost", app=http_app(msgspec.structs.replace(app.parts, settings=settings))
        )
        answer = await client.get("/.well-known/security.txt")
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        lines = answer.text.splitlines()
        assert lines[0] == "Contact: mailto:security@example.com"
        assert re.fullmatch(r"Expires: \d{4}-\d\d-\d\dT00:00:00Z", lines[1])

    async def test_without_a_contact_there_is_none(self, tenant: TenantWorld) -> None:
        assert (await tenant.guest.get("/.well-known/security.txt")).status_code == 404

    async def test_password_managers_find_the_account_page(self, tenant: TenantWorld) -> None:
        answer = await tenant.guest.get("/.well-known/change-password")
        assert (answer.status_code, answer.headers["location"]) == (302, "/member/account")
