"""The pages of the reader's site: what each shows, and what it refuses."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.features.media.pictures import picture
from tests.world import Account, TenantWorld, World, records_of

from masthead.base.ids import TenantId
from masthead.identity.limits.lookups import Lookups
from masthead.identity.limits.read_limits import COSTLY_PER_MINUTE

HTML = {"accept": "text/html"}


async def page(tenant: TenantWorld, path: str, status: int = 200, **headers: str) -> str:
    answer = await tenant.guest.get(path, headers={**HTML, **headers})
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return answer.text


class TestHome:
    async def test_the_newest_post_leads(self, tenant: TenantWorld, app: World) -> None:
        await tenant.published(title="Older")
        app.clock.advance(minutes=1)
        await tenant.published(title="Newest", excerpt="What it says.")
        text = await page(tenant, "/")
        assert text.index("Newest") < text.index("Older")
        assert "What it says." in text

    async def test_the_order_is_that_of_publication(self, tenant: TenantWorld, app: World) -> None:
        first = await tenant.post(title="Written first")
        app.clock.advance(days=1)
        await tenant.published(title="Written second")
        app.clock.advance(days=1)
        await tenant.update("posts", first["id"], {"status": "published"})
        text = await page(tenant, "/")
        assert text.index("Written first") < text.index("Written second")

    async def test_an_empty_site_has_a_page(self, tenant: TenantWorld) -> None:
        assert "<main" in await page(tenant, "/")

    async def test_older_posts_are_on_the_next_page(self, tenant: TenantWorld, app: World) -> None:
        for number in range(17):
            await tenant.published(title=f"Post {number:02}")
            app.clock.advance(minutes=1)
        seen: list[str] = []
        path = "/"
        for _ in range(2):
            text = await page(tenant, path)
            seen += [f"Post {n:02}" for n in range(17) if f"Post {n:02}<" in text]
            path = text.partition("?before=")[2].partition('"')[0]
            path = f"/?before={path}"
        assert sorted(seen) == [f"Post {n:02}" for n in range(17)]

    async def test_drafts_and_scheduled_posts_are_nowhere(
        self, tenant: TenantWorld, app: World
    ) -> None:
        await tenant.post(title="A draft", slug="a-draft", tags=["news"])
        later = {"title": "For tomorrow", "slug": "for-tomorrow", "tags": ["news"]}
        tomorrow = "2026-11-15T09:30:00.123Z"
        app.clock.moment = app.clock.moment.replace(year=2026, month=11, day=14, hour=9, minute=30)
        await tenant.published(**later, published_at=tomorrow)
        await tenant.published(title="Today", tags=["news"])
        addresses = ("/", "/archive", "/tags/news", "/feed.xml", "/feed.json", "/sitemap.xml")
        for path in addresses:
            text = (await tenant.guest.get(path)).text
            assert "A draft" not in text
            assert "For tomorrow" not in text
        for slug in ("a-draft", "for-tomorrow"):
            await page(tenant, f"/posts/{slug}", 404)
        app.clock.advance(days=1)
        assert "For tomorrow" in await page(tenant, "/")
        assert "For tomorrow" in await page(tenant, "/posts/for-tomorrow")


class TestPost:
    async def test_it_shows_its_text_and_authors(self, tenant: TenantWorld) -> None:
        author = await tenant.create(
            "_superusers", {"email": "nell@example.com", "name": "Nell Ashby", "role": "author"}
        )
        await tenant.published(
            title="Fog",
            content_html="<p>Thick fog.</p>",
            authors=[author["id"]],
            tags=["Long Reads"],
        )
        text = await page(tenant, "/posts/fog")
        for part in ("<h1>Fog</h1>", "<p>Thick fog.</p>", "Nell Ashby", "/tags/long-reads"):
            assert part in text
        assert "nell@example.com" not in text
        of_author = await page(tenant, "/authors/nell-ashby")
        assert "Fog" in of_author
        assert "nell@example.com" not in of_author

    async def test_without_an_excerpt_its_beginning_is_not_there_twice(
        self, tenant: TenantWorld
    ) -> None:
        await tenant.published(title="Fog", content_html="<p>Thick fog.</p>")
        assert (await page(tenant, "/posts/fog")).count(">Thick fog.<") == 1
        assert "Thick fog." in await page(tenant, "/")

    async def test_a_post_without_authors_is_the_owners(self, tenant: TenantWorld) -> None:
        owner = await tenant.owner(name="Ada Owner")
        await tenant.update("tenants", tenant.id, {"owner_id": owner.id})
        await tenant.published(title="Unsigned")
        await tenant.published(title="Signed", authors=[owner.id])
        assert "Ada Owner" in await page(tenant, "/posts/unsigned")
        of_owner = await page(tenant, "/authors/ada-owner")
        assert of_owner.index("Signed") < of_owner.index("Unsigned")

    @pytest.mark.parametrize(
        ("sent", "shown", "hidden"),
        [
            ("<script>alert(1)</script><p>x</p>", "<p>x</p>", "alert"),
            ('<p onclick="evil()">x</p>', "<p>x</p>", "evil"),
            ('<a href="javascript:evil()">x</a>', "x", "evil"),
            ('<p style="color:red;text-align:center">x</p>', "align-center", "style="),
            ('<img src="/a.png" onerror="evil()">', 'src="/a.png"', "evil"),
            ("<h1>Loud</h1>", "<h2>Loud</h2>", "<h1>Loud"),
            ("<p>open <b>forever", "<b>forever</b>", "\x00"),
            ('</div></main><form action="https://evil.example">', "", "evil.example"),
            ("<svg onload=evil()></svg><p>x</p>", "<p>x</p>", "evil"),
        ],
    )
    async def test_what_was_sent_is_sanitized(
        self, tenant: TenantWorld, sent: str, shown: str, hidden: str
    ) -> None:
        await tenant.published(title="Sent", content_html=sent)
        text = await page(tenant, "/posts/sent")
        body = text[text.index("<article") : text.index("</article>")]
        assert shown in body
        assert hidden not in body

    async def test_texts_are_escaped_wherever_they_stand(self, tenant: TenantWorld) -> None:
        evil = '"><script>alert(1)</script>'
        await tenant.settings(site_name=evil, site_description=evil)
        await tenant.published(
            title=evil,
            slug="evil",
            excerpt=evil,
            tags=[evil],
            seo_title=evil,
            seo_description=evil,
        )
        for path in ("/", "/posts/evil", "/archive", "/tags/script-alert-1-script", "/feed.xml"):
            text = (await tenant.guest.get(path, headers=HTML)).text
            assert "<script>alert" not in text
            assert "alert(1)" in text
        found = (await tenant.guest.get("/search", params={"q": evil}, headers=HTML)).text
        assert "<script>alert" not in found


class TestOthers:
    async def test_a_page_stands_at_its_slug(self, tenant: TenantWorld) -> None:
        await tenant.create(
            "pages", {"title": "About", "status": "published", "content_html": "<p>Us.</p>"}
        )
        await tenant.create("pages", {"title": "Secret", "content_html": "<p>Draft.</p>"})
        assert "<p>Us.</p>" in await page(tenant, "/about")
        await page(tenant, "/secret", 404)

    async def test_search_finds_words(self, tenant: TenantWorld) -> None:
        await tenant.published(title="Mackerel", content_html="<p>with gooseberries</p>")
        await tenant.published(title="Bread")
        text = await page(tenant, "/search?q=gooseberries")
        assert "Mackerel" in text
        assert ">Bread<" not in text
        assert 'name="robots" content="noindex"' in text
        for odd in ("", "%22", "a" * 500, "%00", "*", "&q=x"):
            await page(tenant, f"/search?q={odd}")

    async def test_searches_that_find_nothing_are_limited_by_address(
        self, tenant: TenantWorld
    ) -> None:
        await tenant.published(title="Bread")
        guest = tenant.guest
        for _ in range(COSTLY_PER_MINUTE):
            assert (await guest.get("/search?q=nothing", headers=HTML)).status_code == 200
        for word in ("nothing", "bread"):
            refused = await guest.get(f"/search?q={word}", headers=HTML)
            assert refused.status_code == 429
        assert (await guest.get("/", headers=HTML)).status_code == 200
        await page(tenant, "/search?q=nothing")

    async def test_a_slash_at_the_end_leads_to_the_page_without_it(
        self, tenant: TenantWorld
    ) -> None:
        await tenant.published(title="Fog")
        for path, target in (
            ("/posts/fog/", "/posts/fog"),
            ("/archive/", "/archive"),
            ("/caf%C3%A9/", "/caf%C3%A9"),
            ("//evil.example/", "/evil.example"),
            ("///evil.example//", "/evil.example"),
        ):
            answer = await tenant.guest.get(f"http://{tenant.host}{path}", headers=HTML)
            assert (answer.status_code, answer.headers["location"]) == (301, target)

    async def test_the_policy_names_the_host_that_was_asked(
        self, app: World, tenant: TenantWorld
    ) -> None:
        for host, domain in ((tenant.host, ""), ("blog.example.com", "blog.example.com")):
            await tenant.settings(custom_domain=domain)
            answer = await app.client(host).get("/")
            assert f"style-src http://{host}/assets/" in answer.headers["content-security-policy"]

    async def test_a_missing_page_says_so_in_the_sites_own_look(self, tenant: TenantWorld) -> None:
        await tenant.settings(site_name="Tideline")
        for path in ("/nothing", "/posts/none", "/tags/none", "/authors/none", "/a/b/c"):
            text = await page(tenant, path, 404)
            assert "Tideline" in text
            assert 'name="robots" content="noindex"' in text

    @pytest.mark.both_databases
    async def test_a_missing_page_names_posts_near_its_address(self, tenant: TenantWorld) -> None:
        await tenant.post(title="The lighthouse keeps a draft")
        light = {"featured_image": "https://pictures.example/light.jpg"}
        for title in ("The lighthouse keeps its own hours", "Zebra crossings", "Newest of all"):
            words = "<p>About signals in the fog.</p>" if "Zebra" in title else ""
            await tenant.published(title=title, content_html=words, **light)
        # A typing mistake; a word too many; the words of another post, at another address.
        for path, title in (
            ("/posts/the-lighthose-keeps-its-own-hours", "The lighthouse keeps its own hours"),
            (
                "/2019/the-lighthouse-keeps-its-own-late-hours/",
                "The lighthouse keeps its own hours",
            ),
            ("/fog-signals", "Zebra crossings"),
        ):
            shown = await page(tenant, path.rstrip("/"), 404)
            near = shown[shown.index("Similar pages") : shown.index("</section>")]
            assert re.findall(r'<li><a href="[^"]*">([^<]*)</a>', near) == [title]
            assert "https://pictures.example/light.jpg" in shown
        # Nothing is near: the newest.
        for path in ("/quite-something-else", "/wp-login.php", f"/{'x' * 900}"):
            shown = await page(tenant, path, 404)
            assert "Perhaps one of these" in shown
            assert "Newest of all" in shown
            assert "a draft" not in shown

    @pytest.mark.both_databases
    async def test_a_missing_page_names_posts_with_some_of_its_words(
        self, tenant: TenantWorld
    ) -> None:
        for title in ("The lighthouse keeps its own hours", "Zebra crossings", "Newest of all"):
            await tenant.published(title=title)
        # One word; a misspelt one; one of several, in a folder of the old site.
        for path, title in (
            ("/lighthouse", "The lighthouse keeps its own hours"),
            ("/lighthose", "The lighthouse keeps its own hours"),
            ("/2019/07/zebras-of-the-savannah/amp", "Zebra crossings"),
        ):
            shown = await page(tenant, path, 404)
            near = shown[shown.index("Similar pages") : shown.index("</section>")]
            assert re.findall(r'<li><a href="[^"]*">([^<]*)</a>', near) == [title]

    async def test_the_feeds_of_other_platforms_lead_to_the_sites(
        self, tenant: TenantWorld
    ) -> None:
        for path, target in (
            ("/rss/", "/feed.xml"),
            ("/rss", "/feed.xml"),
            ("/feed", "/feed.xml"),
            ("/feed/", "/feed.xml"),
            ("/comments/feed/", "/feed.xml"),
            ("/feed/atom/", "/atom.xml"),
        ):
            answer = await tenant.guest.get(path, headers={"accept": "*/*"})
            assert (answer.status_code, answer.headers["location"]) == (301, target)

    async def test_a_guest_cannot_have_near_posts_looked_up_without_end(self) -> None:
        now = [100.0]
        lookups = Lookups(2, lambda: now[0])
        one, other = TenantId("one"), TenantId("other")
        assert [lookups.take(one) for _ in range(4)] == [True, True, False, False]
        assert lookups.take(other)
        now[0] += 1
        assert lookups.take(one)

    async def test_the_size_of_the_logo_is_known(self, tenant: TenantWorld) -> None:
        owner = await tenant.owner()
        files = {"file": ("square.png", picture("PNG", (64, 64)))}
        logo = (await owner.api.post(records_of("media"), files=files)).json()["url"]
        await tenant.settings(site_logo=logo)
        assert f'<img src="{logo}" alt="' in (shown := await page(tenant, "/archive"))
        assert 'width="64" height="64"' in shown

    async def test_only_reading_is_possible(self, tenant: TenantWorld) -> None:
        for path in ("/", "/archive", "/nothing"):
            for headers in (HTML, {"accept": "*/*"}, {"accept": "application/json"}):
                answer = await tenant.guest.post(path, headers=headers)
                assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")

    async def test_another_sites_pages_are_not_found(self, app: World, tenant: TenantWorld) -> None:
        other = await app.new_tenant()
        await other.published(title="Theirs")
        assert "Theirs" not in await page(tenant, "/")
        await page(tenant, "/posts/theirs", 404)

    async def test_old_addresses_lead_to_the_new_ones(self, tenant: TenantWorld) -> None:
        for source in ("/2019/05/old/", "/?p=12", "/about/"):
            await tenant.create("redirects", {"source": source, "destination": "/posts/new"})
        for path in ("/2019/05/old/", "/2019/05/old", "/?p=12", "/about"):
            answer = await tenant.guest.get(path, headers=HTML)
            assert (answer.status_code, answer.headers["location"]) == (301, "/posts/new")
        await page(tenant, "/?p=13")

    async def test_a_changed_slug_redirects_from_the_old_address_at_once(
        self, tenant: TenantWorld
    ) -> None:
        post = await tenant.published(title="Fog", slug="fog")
        draft = await tenant.post(title="Draft", slug="draft")
        await tenant.update("posts", draft["id"], {"slug": "draft-2"})
        for slug in ("thick-fog", "fog-again", "fog", "thick-fog"):
            await tenant.update("posts", post["id"], {"slug": slug})
        for old in ("fog", "fog-again"):
            answer = await tenant.guest.get(f"/posts/{old}", headers=HTML)
            assert (answer.status_code, answer.headers["location"]) == (301, "/posts/thick-fog")
        assert "Fog" in await page(tenant, "/posts/thick-fog")
        await page(tenant, "/posts/draft", 404)

    async def test_pages_and_authors_keep_their_old_addresses(self, tenant: TenantWorld) -> None:
        imprint = await tenant.create(
            "pages", {"title": "Imprint", "slug": "imprint", "status": "published"}
        )
        editor = await tenant.owner(role="editor", name="Ada Byron")
        changed = await editor.api.patch(records_of("pages", imprint["id"]), json={"slug": "legal"})
        assert changed.status_code == 200, changed.text
        await tenant.update("_superusers", editor.id, {"slug": "ada-lovelace"})
        for old, new in (("/imprint", "/legal"), ("/authors/ada-byron", "/authors/ada-lovelace")):
            answer = await tenant.guest.get(old, headers=HTML)
            assert (answer.status_code, answer.headers["location"]) == (301, new)

    async def test_the_settings_shape_the_page(self, tenant: TenantWorld) -> None:
        links = [{"label": "Shop", "url": "https://shop.example"}]
        await tenant.settings(
            language="de-AT", time_zone="Asia/Tokyo", accent_color="#00FF00", navigation=links
        )
        await tenant.published(title="x", published_at="2026-11-13T20:00:00.000Z")
        text = await page(tenant, "/")
        assert '<html lang="de-AT"' in text
        assert 'href="https://shop.example"' in text
        assert "2026-11-14" in text
        style = text.partition('"/assets/site/')[2].partition('"')[0]
        answer = await tenant.guest.get(f"/assets/site/{style}")
        assert answer.headers["content-type"] == "text/css; charset=utf-8"
        assert "--accent" in answer.text

    @pytest.mark.parametrize(
        "values",
        [
            {"time_zone": "Mars/Olympus"},
            {"accent_color": "red"},
            {"language": "no language"},
            {"theme": "../../etc"},
            {"navigation": {"label": "x"}},
            {"navigation": [{"label": "x", "url": "javascript:evil()"}]},
            {"navigation": [{"label": "", "url": "/x"}]},
            {"navigation": [{"label": "x", "url": "/x"}] * 21},
        ],
    )
    async def test_settings_that_make_no_sense_are_refused(
        self, tenant: TenantWorld, values: dict[str, Any]
    ) -> None:
        owner = await tenant.owner()
        records = tenant.world.parts.records
        found = await records.find(
            tenant.world.collection("site_settings"), {}, tenant_id=tenant.id
        )
        answer = await owner.api.patch(
            f"/api/collections/site_settings/records/{found[0]['id']}", json=values
        )
        assert answer.status_code == 400
        assert next(iter(values)) in answer.json()["data"]


class TestTranslations:
    async def test_a_post_names_its_translations_and_itself(self, tenant: TenantWorld) -> None:
        await tenant.settings(language="en-GB")
        await tenant.published(
            title="Fog",
            translations=[
                {"language": "pt", "url": "https://pt.example/nevoeiro"},
                {"language": "de", "url": "/posts/nebel"},
            ],
        )
        text = await page(tenant, "/posts/fog")
        found = dict(re.findall(r'hreflang="([^"]+)" href="([^"]+)"', text))
        base = found["en-GB"].removesuffix("/posts/fog")
        assert found == {
            "en-GB": f"{base}/posts/fog",
            "pt": "https://pt.example/nevoeiro",
            "de": f"{base}/posts/nebel",
        }
        links = re.findall(r'href="([^"]+)" hreflang="[^"]+" lang="[^"]+" dir="auto">([^<]+)', text)
        assert links == [
            ("https://pt.example/nevoeiro", "Português"),
            (f"{base}/posts/nebel", "Deutsch"),
        ]

    async def test_a_page_has_translations_too(self, tenant: TenantWorld) -> None:
        await tenant.create(
            "pages",
            {
                "title": "About",
                "status": "published",
                "translations": [{"language": "fr", "url": "https://fr.example/a"}],
            },
        )
        assert 'hreflang="fr" href="https://fr.example/a"' in await page(tenant, "/about")

    async def test_without_any_there_is_no_hreflang(self, tenant: TenantWorld) -> None:
        await tenant.published(title="Fog", translations=[])
        assert "hreflang" not in await page(tenant, "/posts/fog")

    @pytest.mark.parametrize(
        "value",
        [
            "pt",
            [{"language": "pt"}],
            [{"language": "p", "url": "https://a.example"}],
            [{"language": "pt", "url": "javascript:x"}],
            [{"language": "pt", "url": "/a"}, {"language": "PT", "url": "/b"}],
            [{"language": "pt", "url": "/a"}] * 51,
        ],
    )
    async def test_wrong_translations_are_refused(self, owner: Account, value: object) -> None:
        answer = await owner.api.post(
            records_of("posts"), json={"title": "Fog", "translations": value}
        )
        assert answer.status_code == 400
        assert "translations" in answer.json()["data"]


@pytest.mark.parametrize(
    ("language", "shown"),
    [
        ("", "5 November 2026"),
        ("en-US", "November 5, 2026"),
        ("de", "5. November 2026"),
        ("pt-BR", "5 de novembro de 2026"),
        ("ja", "2026年11月5日"),
        ("tlh", "2026-11-05"),
    ],
)
async def test_dates_are_in_the_sites_language(
    tenant: TenantWorld, app: World, language: str, shown: str
) -> None:
    app.clock.moment = app.clock.moment.replace(year=2026, month=11, day=6)
    await tenant.settings(language=language)
    await tenant.published(title="Fog", published_at="2026-11-05T09:10:00.000Z")
    assert f">{shown}</time>" in await page(tenant, "/posts/fog")


async def test_too_many_values_in_an_address_are_refused(tenant: TenantWorld) -> None:
    answer = await tenant.guest.get("/?" + "&".join(f"a{n}=1" for n in range(51)))
    assert answer.status_code == 400
    assert "over 50 values" in answer.text
