"""A site with texts in several languages: each has its addresses, lists, feeds and words."""

from __future__ import annotations

import asyncio

import feedparser
import httpx
import pytest
from lxml import html
from tests.features.privacy.requests import run_jobs
from tests.served import serving
from tests.world import TenantWorld, World

from masthead.features.posts.collection import posts

TEXT = "<p>Der Turm steht.</p>"
OWN = {"sec-fetch-site": "same-origin"}


@pytest.fixture
async def site(tenant: TenantWorld) -> TenantWorld:
    ada = await tenant.owner(name="Ada", slug="ada")
    await tenant.settings(language="de", languages=["FR", "pt-br"], site_name="Hafen")
    await tenant.published(title="Turm", slug="turm", tags=["Meer"], content_html=TEXT)
    await tenant.published(title="Wal", slug="wal", tags=["Meer"], language="de", content_html=TEXT)
    await tenant.published(
        title="Le phare",
        slug="phare",
        tags=["Meer"],
        language="fr",
        authors=[ada.id],
        content_html="<p>La tour est debout.</p>",
        translations=[{"language": "de", "url": "/posts/turm"}],
    )
    await tenant.published(title="Faro", slug="faro", language="es", content_html=TEXT)
    page = {"title": "À propos", "slug": "a-propos", "status": "published", "language": "fr"}
    await tenant.create("pages", page | {"content_html": TEXT})
    return tenant


def titles(page: httpx.Response) -> list[str]:
    found = html.fromstring(page.text).xpath("//main//*[self::h2 or self::h3]/a/text()")
    return [str(each) for each in found]


async def test_each_language_has_its_lists_and_feeds(site: TenantWorld) -> None:
    guest = site.guest
    own, french = ["Faro", "Wal", "Turm"], ["Le phare"]
    assert sorted(titles(await guest.get("/"))) == sorted(own)
    assert titles(await guest.get("/fr/")) == french
    assert titles(await guest.get("/pt-br/")) == []
    assert sorted(titles(await guest.get("/tags/meer"))) == ["Turm", "Wal"]
    assert titles(await guest.get("/fr/tags/meer")) == french
    assert titles(await guest.get("/fr/authors/ada")) == french
    assert titles(await guest.get("/fr/search?q=tour")) == french
    assert titles(await guest.get("/search?q=tour")) == []
    archive = (await guest.get("/fr/archive")).text
    assert "/fr/posts/phare" in archive
    assert "turm" not in archive
    feed = feedparser.parse((await guest.get("/fr/feed.xml")).text)
    assert feed.feed.language == "fr"
    assert [each.link.partition(":")[2].split("/", 3)[3] for each in feed.entries] == [
        "fr/posts/phare"
    ]
    assert len(feedparser.parse((await guest.get("/atom.xml")).text).entries) == 3
    assert (await guest.get("/fr/tags/meer/feed.xml")).status_code == 200
    assert (await guest.get("/es/feed.xml")).status_code == 404


async def test_a_page_speaks_the_language_of_its_address(site: TenantWorld) -> None:
    guest = site.guest
    for path, language, word in (
        ("/", "de", "Archiv"),
        ("/fr/", "fr", "Archives"),
        ("/fr/posts/phare", "fr", "Archives"),
        ("/fr/a-propos", "fr", "Archives"),
        ("/fr/nowhere", "fr", "Archives"),
        ("/fr/member/sign-up", "fr", "Archives"),
        ("/pt-br/", "pt-BR", "Arquivo"),
    ):
        page = html.fromstring((await guest.get(path)).text)
        assert page.get("lang") == language, path
        [archive] = page.xpath("//footer//a[contains(@href, '/archive')]")
        root = "" if language == "de" else f"/{language.lower()}"
        assert (archive.get("href"), archive.text) == (f"{root}/archive", word), path
        assert not page.xpath("//a[starts-with(@href, '/member')][not(@hreflang)]") or not root, (
            path
        )


async def test_a_text_is_at_the_address_of_its_language(site: TenantWorld) -> None:
    guest = site.guest
    for path, there in (
        ("/posts/phare?thread=x", "/fr/posts/phare?thread=x"),
        ("/fr/posts/turm", "/posts/turm"),
        ("/fr/posts/wal", "/posts/wal"),
        ("/pt-br/posts/phare", "/fr/posts/phare"),
        ("/posts/phare.md", "/fr/posts/phare.md"),
        ("/a-propos", "/fr/a-propos"),
        ("/fr", "/fr/"),
    ):
        answer = await guest.get(path)
        assert (answer.status_code, answer.headers["location"]) == (301, there), path
    for path in (
        "/es/posts/faro",
        "/es/",
        "/de/",
        "/de/posts/turm",
        "/FR/",
        "/fr/admin",
        "/fr/x/y",
    ):
        assert (await guest.get(path)).status_code in (301, 404), path
    # The site has no Spanish pages, and the text says what it is.
    [article] = html.fromstring((await guest.get("/posts/faro")).text).xpath("//article")
    assert (article.get("lang"), article.get("dir")) == ("es", "ltr")
    assert (await guest.get("/fr/posts/phare.md")).text.startswith("# Le phare")


async def test_languages_are_linked_for_readers_and_search_engines(site: TenantWorld) -> None:
    guest = site.guest

    async def links(path: str) -> tuple[dict[str, str], list[str]]:
        page = html.fromstring((await guest.get(path)).text)
        heads = page.xpath("//head/link[@hreflang]")
        return (
            {each.get("hreflang"): each.get("href").split("/", 3)[3] for each in heads},
            [each.get("href") for each in page.xpath("//footer//a[@hreflang]")],
        )

    fronts = {"de": "", "fr": "fr/", "pt-BR": "pt-br/"}
    heads, foot = await links("/")
    assert heads == fronts
    assert [each.split("/", 3)[3] for each in foot] == ["", "fr/", "pt-br/"]
    assert (await links("/fr/archive"))[0] == {
        "de": "archive",
        "fr": "fr/archive",
        "pt-BR": "pt-br/archive",
    }
    heads, foot = await links("/fr/posts/phare")
    assert heads == {"fr": "fr/posts/phare", "de": "posts/turm"}
    assert foot[0].endswith("/posts/turm")
    assert foot[2] == "/pt-br/"
    assert (await links("/member/sign-in"))[1][1] == "/fr/member/sign-in"
    sitemap = (await guest.get("/sitemap.xml")).text
    month = sitemap.rpartition("/sitemap/")[2].partition("<")[0]
    urls = (await guest.get(f"/sitemap/{month}")).text
    assert all(path in urls for path in ("/fr/posts/phare<", "/posts/turm<", "/posts/faro<"))
    assert "/fr/a-propos<" in (await guest.get("/sitemap/pages.xml")).text
    assert "/fr/posts/phare.md" in (await guest.get("/llms.txt")).text


async def test_a_change_of_the_languages_moves_the_texts(site: TenantWorld) -> None:
    guest = site.guest
    await site.settings(language="de", languages=["es"])
    await run_jobs(site.world)
    assert titles(await guest.get("/es/")) == ["Faro"]
    assert sorted(titles(await guest.get("/"))) == ["Le phare", "Turm", "Wal"]
    assert (await guest.get("/fr/")).headers["location"] == "/fr"
    assert (await guest.get("/fr/posts/phare")).status_code == 404
    await site.settings(language="fr", languages=["de"])
    await run_jobs(site.world)
    # Texts without a language are in the site's own, whatever it is.
    assert titles(await guest.get("/de/")) == ["Wal"]
    assert sorted(titles(await guest.get("/"))) == ["Faro", "Le phare", "Turm"]
    assert not [name for name in await site.event_names() if name == "post.updated"]


async def test_one_language_costs_nothing_and_has_no_switcher(tenant: TenantWorld) -> None:
    await tenant.published(title="Phare", slug="phare", language="fr", content_html=TEXT)
    guest = tenant.guest
    front = html.fromstring((await guest.get("/")).text)
    assert not front.xpath("//*[@hreflang]")
    assert front.xpath("//a[@href='/posts/phare']")
    [article] = html.fromstring((await guest.get("/posts/phare")).text).xpath("//article")
    assert article.get("lang") == "fr"
    assert (await guest.get("/fr/")).headers["location"] == "/fr"
    assert (await guest.get("/fr/posts/phare")).status_code == 404


BELOW_A_LANGUAGE = (
    "/de/../admin",
    "/de/..%2fadmin",
    "/de/%2e%2e/admin",
    "/fr/../admin",
    "/fr/%2e%2e/admin/posts",
    "/fr/admin",
    "/fr/admin/posts",
    "/FR/admin",
    "/fr//admin",
    "/fr/api/v1/posts",
    "/fr/api/collections/_superusers/records",
    "/fr/metrics",
    "/fr/mcp",
    "/fr/fr/posts/phare",
    "/fr/de/posts/turm",
    "/fr/../../etc/passwd",
    "/fr/assets/../../secret.key",
    "/fr%00/posts/phare",
    "/fr;/admin",
    "/fr/%5c..%5cadmin",
    "//fr/admin",
)


async def test_nothing_but_the_readers_site_is_below_a_language(
    app: World, site: TenantWorld
) -> None:
    """The paths as they come: no client has cleaned them. An owner is signed in."""
    owner = await site.owner()
    async with serving(app.http) as address:
        port = int(address.rpartition(":")[2])
        for path in BELOW_A_LANGUAGE:
            status, head, body = await sent_as_it_is(port, path, site.host, owner.token)
            assert status in (301, 400, 404), (path, status)
            location = head.get("location", "")
            assert not location or location.startswith(("/fr", "/posts", "http://")), (path, head)
            assert "sign-out" not in body, path


async def sent_as_it_is(
    port: int, path: str, host: str, token: str
) -> tuple[int, dict[str, str], str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = (f"GET {path} HTTP/1.1", f"Host: {host}", f"Cookie: pb_auth={token}")
    writer.write("\r\n".join([*lines, "Connection: close", "", ""]).encode())
    async with asyncio.timeout(20):
        whole = await reader.read()
    head, _, body = whole.decode(errors="replace").partition("\r\n\r\n")
    writer.close()
    first, *rest = head.split("\r\n")
    fields = dict(each.lower().split(": ", 1) for each in rest)
    return int(first.split()[1]), fields, body


async def test_no_page_names_a_translation_that_is_not_published(site: TenantWorld) -> None:
    """Its address says what the draft is about. One for members has a page, which says so."""
    later = "2126-01-01T00:00:00Z"
    drafts = {
        "geheim": {"title": "Geheim"},
        "spaeter": {"title": "Später", "status": "draft", "scheduled_for": later},
        "nur-per-mail": {"title": "Nur per Mail", "status": "published", "email_only": True},
    }
    for slug, values in drafts.items():
        await site.create("posts", {"slug": slug, "language": "de", **values})
    await site.create("pages", {"title": "Impressum", "slug": "impressum", "language": "de"})
    await site.published(title="Mitglieder", slug="mitglieder", visibility="members")
    whole = f"http://{site.host}/posts/geheim"
    shown = {
        **dict.fromkeys([f"/posts/{each}" for each in drafts], ""),
        **{whole: "", "/impressum": "", "/posts/geheim/?a=b#c": "", "/fr/posts/geheim": ""},
        **{"/posts/mitglieder": "/posts/mitglieder", "/fr/posts/turm": "/posts/turm"},
        **{"/posts/an-old-address": "/posts/an-old-address", "/archive": "/archive"},
        "https://de.example/posts/geheim": "https://de.example/posts/geheim",
    }
    for number, (given, address) in enumerate(shown.items()):
        link = {"language": "de", "url": given}
        common = {"language": "fr", "content_html": TEXT, "translations": [link]}
        await site.published(title="Phare", slug=f"phare-{number}", **common)
        answer = await site.guest.get(f"/fr/posts/phare-{number}")
        found = html.fromstring(answer.text).xpath("//*[@hreflang='de']/@href")
        if address:
            assert {each for each in found if each != "/"} == {
                address if "://" in address else f"http://{site.host}{address}"
            }, given
        else:
            assert set(found) == {"/"}, given
            assert not {*drafts, "impressum"} & set(answer.text.replace("/", '"').split('"'))
    # Once it is published, it is named.
    [post] = await site.world.parts.records.find(posts, {"slug": "geheim"}, tenant_id=site.id)
    await site.update("posts", post["id"], {"status": "published"})
    assert "/posts/geheim" in (await site.guest.get("/fr/posts/phare-0")).text


async def test_a_text_in_a_language_of_its_own_leads_to_its_translation(site: TenantWorld) -> None:
    """The switcher beside the title has the other languages, not the one that is read."""
    link = {"language": "de", "url": "/posts/turm"}
    await site.published(
        title="Torre", slug="torre", language="es", content_html=TEXT, translations=[link]
    )
    page = html.fromstring((await site.guest.get("/posts/torre")).text)
    [switch] = page.xpath("//nav[@class='translations']")
    assert [each.get("href") for each in switch.xpath("a")] == [f"http://{site.host}/posts/turm"]
    tags = page.xpath("//head/link[@hreflang]/@hreflang")
    assert sorted(map(str, tags)) == ["de", "es"]


async def test_a_list_says_in_which_language_a_title_is(site: TenantWorld) -> None:
    """Arabic in a list of German texts runs from right to left, and what is German does not."""
    text = {"language": "ar", "content_html": "<p>كان الصباح هادئًا.</p>", "excerpt": "صباح!"}
    await site.published(title="الضباب (2026)!", slug="dabab", **text)
    arabic = {"lang": "ar", "dir": "rtl"}
    for path in ("/", "/archive", "/search?q=الضباب"):
        page = html.fromstring((await site.guest.get(path)).text)
        [title] = page.xpath(
            "//main//*[self::h2 or self::h3 or self::span][a[@href='/posts/dabab']]"
        )
        said = dict(title.attrib) or dict(title.find("a").attrib)
        assert arabic.items() <= said.items(), path
        assert not page.xpath("//time/ancestor::*[@lang='ar']"), path
        [german] = page.xpath("//main//a[@href='/posts/turm']/..") or [None]
        assert german is None or "lang" not in german.attrib
    post = html.fromstring((await site.guest.get("/posts/dabab")).text)
    [byline] = post.xpath("//*[@class='byline']")
    assert (byline.get("lang"), byline.get("dir")) == ("de", "ltr")
