"""The settings of the design on the site: themes, layouts, what stands around pages, and a
theme that only its owner tries."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from lxml import html
from tests.world import TenantWorld, World

from masthead.base import clock

HTML = {"accept": "text/html"}


async def page_of(tenant: TenantWorld, path: str = "/", api: Any = None) -> html.HtmlElement:
    answer = await (api or tenant.guest).get(path, headers=HTML)
    assert answer.status_code == 200, answer.text
    return html.document_fromstring(answer.text)


async def test_each_choice_is_drawn(tenant: TenantWorld) -> None:
    for number in range(15):
        await tenant.published(title=f"Post {number}")
    page = await page_of(tenant)
    assert (page.get("data-fonts"), page.get("data-width")) == ("mixed", "normal")
    assert [len(page.find_class(each)) for each in ("lead", "card", "line")] == [1, 3, 10]
    await tenant.settings(home_layout="grid", fonts="mono", width="wide")
    page = await page_of(tenant)
    assert (page.get("data-fonts"), page.get("data-width")) == ("mono", "wide")
    assert [len(page.find_class(each)) for each in ("lead", "card", "line")] == [0, 12, 0]
    assert page.xpath("//link[@as='font']") == []
    older = page.find_class("pager-older")[0].get("href")
    assert len((await page_of(tenant, older)).find_class("card")) == 3
    await tenant.settings(home_layout="list")
    page = await page_of(tenant)
    assert [len(page.find_class(each)) for each in ("lead", "card", "line")] == [0, 0, 14]


async def test_what_stands_around_every_page(tenant: TenantWorld) -> None:
    evil = "<script>alert(1)</script>"
    await tenant.settings(
        footer_text=f"First line {evil}\nSecond line",
        footer_links=[{"label": "Privacy", "url": "/privacy"}],
        social=["https://github.com/tideline"],
        announcement={"text": f"News {evil}", "url": "/news"},
        site_logo="https://example.com/light.svg",
        site_logo_dark="https://example.com/dark.svg",
    )
    for path in ("/", "/archive", "/member/sign-in"):
        page = await page_of(tenant, path)
        (announcement,) = page.find_class("announcement")
        assert announcement.text_content().strip() == f"News {evil}"
        assert announcement.xpath("a/@href") == ["/news"]
        lines = [each.text_content() for each in page.find_class("foot-text")[0]]
        assert lines == [f"First line {evil}", "Second line"]
        links = {each.text_content(): each for each in page.xpath("//footer//a")}
        assert links["Privacy"].get("href") == "/privacy"
        assert links["GitHub"].get("rel") == "me"
        (dark,) = page.xpath("//source[@media='(prefers-color-scheme: dark)']/@srcset")
        assert dark == "https://example.com/dark.svg"


async def test_an_announcement_goes_at_its_time_without_a_change(
    app: World, tenant: TenantWorld
) -> None:
    until = clock.to_text(app.clock() + timedelta(hours=1))
    await tenant.settings(announcement={"text": "Until later", "until": until})
    assert "Until later" in (await tenant.guest.get("/")).text
    app.clock.advance(seconds=3599)
    assert "Until later" in (await tenant.guest.get("/")).text
    app.clock.advance(seconds=2)
    assert "Until later" not in (await tenant.guest.get("/")).text


async def test_the_manual_shows_its_pages_as_a_tree(tenant: TenantWorld) -> None:
    for title, slug in (
        ("Zebra", "zebra"),
        ("Install", "install"),
        ("On Docker", "install-docker"),
        ("On Linux", "install-linux"),
        ("With Compose", "install-docker-compose"),
        ("About", "about"),
    ):
        await tenant.create("pages", {"title": title, "slug": slug, "status": "published"})
    await tenant.create("pages", {"title": "Draft", "slug": "install-draft"})
    await tenant.settings(theme="manual", navigation=[{"label": "Z", "url": "/zebra"}])
    page = await page_of(tenant, "/install-docker")
    (tree,) = page.find_class("tree")
    tops = [each.text_content() for each in tree.xpath("ul/li/a")]
    assert tops == ["Zebra", "About", "Install"]
    assert [each.text_content() for each in tree.xpath("ul/li/ul/li/a")] == [
        "On Docker",
        "On Linux",
    ]
    assert tree.xpath("ul/li/ul/li/ul/li/a/@href") == ["/install-docker-compose"]
    assert tree.xpath(".//a[@aria-current]/@href") == ["/install-docker"]
    await tenant.settings(theme="letter")
    assert (await page_of(tenant, "/install-docker")).find_class("tree") == []


async def test_a_theme_is_tried_by_an_owner_alone(tenant: TenantWorld) -> None:
    await tenant.published(title="Same")
    owner, editor, member = (
        (await tenant.owner()).api,
        (await tenant.owner(role="editor")).api,
        (await tenant.member()).api,
    )
    for path in ("/", "/posts/same", "/archive", "/member/sign-in"):
        answer = await owner.get(f"{path}?theme=letter", headers=HTML)
        assert "/assets/letter/theme" in answer.text
        assert answer.headers["cache-control"] == "private, no-store"
        assert "etag" not in answer.headers
    for api in (owner, editor, member, tenant.guest):
        assert "/assets/letter/" not in (await api.get("/", headers=HTML)).text
    for api in (editor, member, tenant.guest):
        assert "/assets/letter/" not in (await api.get("/?theme=letter", headers=HTML)).text
    for unknown in ("harbour", "../letter", "", "%00", "letter%20"):
        answer = await owner.get(f"/?theme={unknown}", headers=HTML)
        assert answer.status_code == 200
        assert "/assets/letter/" not in answer.text
    # For readers it is one of the parameters that change nothing: it is the page of the cache.
    plain, other = [await tenant.guest.get(each, headers=HTML) for each in ("/", "/?theme=manual")]
    assert plain.headers["etag"] == other.headers["etag"]
