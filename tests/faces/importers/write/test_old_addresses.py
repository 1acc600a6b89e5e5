"""Every address of the old site leads to something that exists, by one 301."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.faces.importers.platforms.wordpress.wxr import HEAD, TAIL, attachment, item, write
from tests.faces.importers.write.exports import (
    WrittenExport,
    imported,
    imported_with_redirects,
    new_run,
    post,
    rows,
)
from tests.faces.importers.write.platforms import SUBSTACK_COLUMNS
from tests.faces.importers.write.test_undo import undone
from tests.features.media.pictures import picture
from tests.world import TenantWorld

from masthead.base.caller import system
from masthead.faces.importers.platforms.exports import open_export
from masthead.faces.importers.source import OldAddress, Options, SourceAuthor

HTML = {"accept": "text/html"}
ALL = Options(
    site_url="https://old.example.com/blog",
    include_pages=True,
    include_authors=True,
    include_comments=True,
)
SITE = "https://old.example.com"
UPLOADS = "/wp-content/uploads/2024/05"


def wordpress(folder: Path) -> tuple[Path, list[str]]:
    """A site in no folder, with its uploads beside the file; and its addresses."""
    (folder / UPLOADS[1:]).mkdir(parents=True)
    (folder / UPLOADS[1:] / "fog.png").write_bytes(picture("PNG"))
    channel = (
        "<wp:author><wp:author_id>3</wp:author_id><wp:author_login>ann.lee</wp:author_login>"
        "<wp:author_email>ann@old.example.com</wp:author_email>"
        "<wp:author_display_name>Ann Lee</wp:author_display_name></wp:author>"
        "<wp:author><wp:author_id>4</wp:author_id><wp:author_login>gone</wp:author_login>"
        "</wp:author>"
        "<wp:category><wp:term_id>7</wp:term_id><wp:category_nicename>news</wp:category_nicename>"
        "<wp:category_parent></wp:category_parent><wp:cat_name>News</wp:cat_name></wp:category>"
        "<wp:category><wp:term_id>8</wp:term_id><wp:category_nicename>lokales</wp:category_nicename>"
        "<wp:category_parent>news</wp:category_parent><wp:cat_name>Local</wp:cat_name>"
        "</wp:category>"
        "<wp:tag><wp:term_id>9</wp:term_id><wp:tag_slug>empty</wp:tag_slug>"
        "<wp:tag_name>Empty</wp:tag_name></wp:tag>"
        "<wp:term><wp:term_id>10</wp:term_id><wp:term_taxonomy>photo_genre</wp:term_taxonomy>"
        "<wp:term_slug>weather</wp:term_slug><wp:term_name>Weather</wp:term_name></wp:term>"
        "<wp:term><wp:term_id>11</wp:term_id><wp:term_taxonomy>photo_genre</wp:term_taxonomy>"
        "<wp:term_slug>mist</wp:term_slug><wp:term_parent>weather</wp:term_parent>"
        "<wp:term_name>Mist</wp:term_name></wp:term>"
        "<wp:term><wp:term_id>12</wp:term_id><wp:term_taxonomy>nav_menu</wp:term_taxonomy>"
        "<wp:term_slug>main</wp:term_slug><wp:term_name>Main</wp:term_name></wp:term>"
    )
    text = f'<p><img src="{SITE}{UPLOADS}/fog-300x200.png"></p>'
    fog = item(
        text,
        title="Fog",
        post_name="fog",
        creator="ann.lee",
        terms=[("category", "Local"), ("post_tag", "Größe")],
        raw='<category domain="post_tag" nicename="gr%c3%b6sse"><![CDATA[Größe]]></category>'
        '<category domain="photo_genre" nicename="mist"><![CDATA[Mist]]></category>'
        '<category domain="post_format" nicename="post-format-aside"><![CDATA[Aside]]></category>',
        link=f"{SITE}/2024/05/caf%C3%A9-fog/",
    ).replace('<category domain="category">', '<category domain="category" nicename="lokales">')
    about = item(
        post_id=6,
        title="About",
        post_name="about",
        post_type="page",
        link=f"{SITE}/us/about/",
        guid=f"{SITE}/?page_id=6",
    )
    file = attachment(9, f"{SITE}{UPLOADS}/fog.png", parent=5).replace(
        "https://old.example.com/2024/05/a-title/", f"{SITE}/2024/05/cafe-fog/fog-2/"
    )
    other = attachment(10, f"{SITE}{UPLOADS}/other.png", parent=6).replace(
        "https://old.example.com/2024/05/a-title/", f"{SITE}/us/about/other/"
    )
    whole = HEAD.format(version="1.2") + channel + fog + about + file + other + TAIL
    (folder / "export.xml").write_text(whole)
    lists = ("category/lokales", "category/news/lokales", "category/news", "tag/empty")
    lists += ("tag/gr%C3%B6sse", "author/ann-lee", "author/gone", "type/aside")
    lists += ("photo_genre/mist", "photo-genre/mist", "photo-genre/weather/mist")
    lists += ("photo-genre/weather",)
    return folder, [
        *("/2024/05/caf%C3%A9-fog/", "/2024/05/caf%C3%A9-fog", "/?p=5", "/?p=5&utm_source=x"),
        *("/us/about/", "/?page_id=6", "/?p=6", "/us/about/other/", "/?attachment_id=9"),
        *("/2024/05/cafe-fog/fog-2/", "/?cat=7", "/?cat=8", "/?tag=empty", "/?author=3"),
        *("/feed/", "/feed", "/feed/atom/", "/feed/rss2/", "/?feed=rss2", "/?feed=atom"),
        *("/comments/feed/", "/2024/05/caf%C3%A9-fog/feed/", "/page/2/", "/2024/05/01/"),
        *("/2024/", "/2024/05/", "/2024/05/page/2/", "/?m=202405", "/2024/05/feed/"),
        *(f"{UPLOADS}/fog{size}.png" for size in ("", "-300x200", "-150x150")),
        *(f"/{each}/{rest}" for each in lists for rest in ("", "feed/", "page/2/")),
    ]


def ghost(folder: Path) -> tuple[Path, list[str]]:
    """In a folder of its host."""
    images = folder / "content/images/2024/05"
    images.mkdir(parents=True)
    (images / "fog.png").write_bytes(picture("PNG"))
    shown = "__GHOST_URL__/content/images/size/w600/2024/05/fog.png"
    uuid = "0d3b1e0c-7a3b-4c3e-9f5d-2f1c6a0b9d11"
    texts = [
        {"id": "p1", "uuid": uuid, "slug": "fog", "title": "Fog", "type": "post"},
        {"id": "p2", "slug": "über-uns", "title": "About", "type": "page"},
    ]
    for each in texts:
        each |= {"html": f'<p><img src="{shown}"></p>', "status": "published"}
        each |= {"published_at": "2024-05-01T10:00:00.000Z"}
    data = {
        "posts": texts,
        "tags": [
            {"id": "t1", "name": "Local news", "slug": "local"},
            {"id": "t2", "name": "Empty", "slug": "empty"},
            {"id": "t3", "name": "#hidden", "slug": "hash-hidden", "visibility": "internal"},
        ],
        "posts_tags": [{"post_id": "p1", "tag_id": "t1"}],
        "users": [
            {"id": "u1", "name": "Ann Lee", "slug": "annie", "email": "ann@old.example.com"},
            {"id": "u2", "name": "Nobody", "slug": "nobody", "email": ""},
        ],
        "posts_authors": [{"post_id": "p1", "author_id": "u1"}],
    }
    (folder / "export.json").write_text(json.dumps({"data": data}))
    lists = ("tag/local", "tag/empty", "author/annie", "author/nobody")
    return folder, [
        *(
            "/blog/page/2/",
            "/blog/fog/",
            f"/blog/p/{uuid}/",
            "/blog/%C3%BCber-uns/",
            "/blog/rss/",
            "/blog/rss",
        ),
        *(
            f"/blog/content/images/{size}2024/05/fog.png"
            for size in ("", "size/w600/", "size/w30/")
        ),
        *(f"/blog/{each}/{rest}" for each in lists for rest in ("", "rss/", "page/2/")),
    ]


def substack(folder: Path) -> tuple[Path, list[str]]:
    (folder / "posts").mkdir(parents=True)
    lines = (
        "1.fog,2024-05-01T10:00:00Z,true,newsletter,everyone,Fog,\n",
        "2.about-us,2024-05-01T10:00:00Z,true,page,everyone,About,\n",
    )
    (folder / "posts.csv").write_text(SUBSTACK_COLUMNS + "".join(lines))
    for name in ("1.fog", "2.about-us"):
        (folder / f"posts/{name}.html").write_text("<p>Text</p>")
    return folder, ["/p/fog", "/p/about-us", "/feed", "/feed/"]


EXPORTS = {"wordpress": wordpress, "ghost": ghost, "substack": substack}


@pytest.fixture(params=EXPORTS)
def old_site(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[str, Any, list[str]]]:
    write: Callable[[Path], tuple[Path, list[str]]] = EXPORTS[request.param]
    path, addresses = write(tmp_path / "old")
    source = open_export(request.param, path, ALL)
    yield request.param, source, addresses
    source.close()


async def test_each_old_address_answers_301_to_a_page_that_exists(
    tenant: TenantWorld, old_site: tuple[str, Any, list[str]]
) -> None:
    _, source, addresses = old_site
    report, listed = await imported_with_redirects(tenant, source)
    stored = {row["source"]: row["destination"] for row in await rows(tenant, "redirects")}
    for address in (*addresses, *stored):
        answer = await tenant.guest.get(address, headers=HTML)
        assert answer.status_code == 301, address
        there = await tenant.guest.get(answer.headers["location"], headers=HTML)
        assert there.status_code == 200, (address, answer.headers["location"])
    # The list has all of them, and the report how many of what.
    assert {line.split(",")[0] for line in listed.splitlines()[1:]} == set(stored)
    assert report.redirects == len(stored) == sum(report.redirect_kinds.values())


async def test_the_list_of_a_month_begins_with_its_newest_post(
    tenant: TenantWorld, tmp_path: Path
) -> None:
    dates = {"april": "2024-04-30", "may": "2024-05-31", "december": "2024-12-31"}
    items = [
        item(post_id=n, post_name=name, title=name, post_date=day, post_date_gmt=day, link="")
        for n, (name, day) in enumerate(((n, f"{d} 10:00:00") for n, d in dates.items()), 1)
    ]
    draft = item(post_id=9, post_date="2020-01-01 10:00:00", status="draft")
    source = open_export("wordpress", write(tmp_path / "a.xml", *items, draft), Options())
    await imported(tenant, source)
    source.close()
    shown = {}
    for path in ("/2024/05/", "/2024/04/", "/2024/12/", "/2024/", "/2020/01/"):
        answer = await tenant.guest.get(path, headers=HTML, follow_redirects=True)
        shown[path] = re.findall(r'href="/posts/(\w+)"', answer.text) if answer.is_success else []
    assert {path: list(dict.fromkeys(names)) for path, names in shown.items()} == {
        "/2024/05/": ["may", "april"],
        "/2024/04/": ["april"],
        "/2024/12/": ["december", "may", "april"],
        "/2024/": ["december", "may", "april"],
        "/2020/01/": [],
    }


async def test_a_second_run_lists_them_again_and_an_undo_removes_them(
    tenant: TenantWorld, old_site: tuple[str, Any, list[str]]
) -> None:
    _, source, _ = old_site
    log = await new_run(tenant)
    first, listed = await imported_with_redirects(tenant, source, log=log)
    second, again = await imported_with_redirects(tenant, source)
    dry = await imported(tenant, source, dry_run=True)
    assert sorted(again.splitlines()) == sorted(listed.splitlines())
    assert second.redirect_kinds == first.redirect_kinds == dry.redirect_kinds

    report = await undone(tenant, log)

    assert report.undone.stayed == {}
    assert await rows(tenant, "redirects") == []


async def test_the_terms_of_a_taxonomy_lead_to_the_tag_and_its_feed(
    tenant: TenantWorld, tmp_path: Path
) -> None:
    path, _ = wordpress(tmp_path / "old")
    source = open_export("wordpress", path, ALL)
    await imported(tenant, source)
    source.close()
    found = await _redirects(tenant)
    assert found["/photo-genre/weather/mist/"] == found["/photo_genre/mist/"] == "/tags/mist"
    assert found["/photo_genre/mist/feed/"] == "/tags/mist/feed.xml"
    # No post has the term itself, as in a list of the old site that shows the terms below it.
    assert found["/photo_genre/weather/"] == "/archive"
    assert not any("main" in each for each in found)


async def test_the_lists_of_authors_who_come_later_lead_to_them_then(tenant: TenantWorld) -> None:
    old = [OldAddress("/author/wren/", "author", "w1")]
    await imported(tenant, WrittenExport([post(1)], old=old))
    assert (await _redirects(tenant))["/author/wren/"] == "/archive"

    writers = [SourceAuthor("w1", "wren@example.com", "Wren Day")]
    await imported(tenant, WrittenExport([post(1, authors=("w1",))], writers=writers, old=old))

    assert (await _redirects(tenant))["/author/wren/"] == "/authors/wren-day"


async def test_the_lists_of_two_authors_with_one_address_lead_to_their_page(
    tenant: TenantWorld,
) -> None:
    old = [OldAddress(f"/author/{each}/", "author", each) for each in ("w1", "w2")]
    writers = [SourceAuthor(each, "wren@example.com", "Wren Day") for each in ("w1", "w2")]
    await imported(tenant, WrittenExport([post(1, authors=("w1",))], writers=writers, old=old))
    found = await _redirects(tenant)
    assert found["/author/w1/"] == found["/author/w2/"] == "/authors/wren-day"


async def test_a_redirect_that_was_deleted_or_changed_here_stays_so(tenant: TenantWorld) -> None:
    old = [OldAddress("/feed/", "feed"), OldAddress("/rss/", "feed")]
    source = WrittenExport([post(1)], old=old)
    await imported(tenant, source)
    records, collection = tenant.world.parts.records, tenant.world.collection("redirects")
    for row in await rows(tenant, "redirects"):
        if row["source"] == "/rss/":
            await tenant.update("redirects", row["id"], {"destination": "/archive"})
        else:
            await records.delete(system(tenant.id), collection, row["id"])

    _, listed = await imported_with_redirects(tenant, source)

    assert await _redirects(tenant) == {"/rss/": "/archive"}
    assert listed.splitlines()[1:] == []


async def test_an_import_of_a_version_before_gets_its_redirects_in_the_next_run(
    tenant: TenantWorld,
) -> None:
    await imported(tenant, WrittenExport([post(1)]))
    report = await imported(tenant, WrittenExport([post(1, other_paths=("/?p=1",))]))
    assert report.posts.updated == 0
    assert (await _redirects(tenant))["/?p=1"] == "/posts/post-1"


async def _redirects(tenant: TenantWorld) -> dict[str, str]:
    return {row["source"]: row["destination"] for row in await rows(tenant, "redirects")}
