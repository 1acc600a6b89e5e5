"""Export, import, export: the second file says what the first one said, authors and comments too.
Ids, the site's own address and when rows were changed are new."""

from __future__ import annotations

import csv
import io
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lxml import etree
from tests.faces.importers.write.exports import WrittenExport, imported, post, rows
from tests.faces.site_export.filled import entries, export, ghost_tables
from tests.features.media.pictures import picture
from tests.world import TenantWorld

from masthead.faces.importers.platforms.ghost.reader import open_ghost
from masthead.faces.importers.platforms.wordpress.source import open_wordpress
from masthead.faces.importers.report import Report
from masthead.faces.importers.source import Options, SourceAuthor, SourceComment, SourceMember
from masthead.features.posts.collection import posts

ALL = Options(
    include_pages=True, include_authors=True, include_comments=True, include_unpublished=True
)
LATER = "2099-01-01T10:00:00.123Z"
PICTURE = "https://old.example/a.png"
OPEN = {"wxr": open_wordpress, "ghost": open_ghost}


def comment(number: int, parent: int = 0, **values: Any) -> SourceComment:
    given: dict[str, Any] = {
        "author_name": f"Reader <{number}> & Co",
        "author_email": f"r{number}@example.com",
        "body": f"Words {number} & <more>\n\n\n  indented\nend",
        "status": "approved",
        "created": f"2025-05-04T03:02:0{number}.12{number}Z",
    }
    parent_id = f"c{parent}" if parent else ""
    return SourceComment(f"c{number}", "post:id-1", parent_id, **given | values)


def a_site(*, with_picture: bool) -> WrittenExport:
    shown = f'<p><img src="{PICTURE}"></p>' if with_picture else "<p>Text &amp; more</p>"
    return WrittenExport(
        [
            post(1, html=shown, tags=("Food & drink", "C++"), authors=("w2", "w1"), excerpt="E"),
            post(2, visibility="paid", seo_title="For engines", authors=("w1",)),
            post(3, status="draft", published_at="", authors=("w1",)),
            post(4, status="draft", published_at="", scheduled_for=LATER),
            post(5, html="<p>Nobody's</p>"),
            post(6, kind="page"),
            post(7, email_only=True),
            post(8, email_only=True, status="draft", published_at=""),
            post(9, visibility="paid", levels=("Gold", "Silver")),
        ],
        [
            SourceMember("ana@example.com", "Ana", labels=("VIP", "Berlin"), note="Met, in May"),
            SourceMember("bo@example.com", tier="paid", past_state="past_due", levels=("Silver",)),
        ],
        [
            comment(1),
            comment(2, 1, status="pending"),
            comment(3, 2, author_email=""),
            comment(4, status="spam"),
        ],
        [
            SourceAuthor("w1", "wren@example.com", "Wren & Co", "Writes\nand <reads>", "the-wren"),
            SourceAuthor("w2", "finch@example.com", "Finch"),
        ],
        files={PICTURE: picture("PNG")},
    )


async def tiers_of(tenant: TenantWorld) -> dict[str, str]:
    """The ids by name."""
    made = [
        await tenant.create("tiers", {"name": name, "price": 900, "currency": "eur"})
        for name in ("Silver", "Gold")
    ]
    return {each["name"]: each["id"] for each in made}


@pytest.mark.parametrize("form", ["wxr", "ghost"])
async def test_a_post_for_chosen_tiers_is_for_the_tiers_of_the_same_names(
    tenant: TenantWorld, other_tenant: TenantWorld, tmp_path: Path, form: str
) -> None:
    names = await tiers_of(tenant)
    closed = {"title": "Closed", "visibility": "paid", "status": "published"}
    await tenant.post(**closed, tiers=[names["Gold"]])
    await tenant.post(title="Paid", visibility="paid", status="published")
    await export(tenant, form, tmp_path / "first")

    async def import_all() -> Report:
        with closing(OPEN[form](tmp_path / "first", ALL)) as source:
            return await imported(other_tenant, source)

    report = await import_all()
    assert (report.posts.imported, report.posts.failed) == (1, 1)
    assert "no tier of that name" in str(msgspec.to_builtins(report))
    theirs = await tiers_of(other_tenant)
    report = await import_all()
    assert (report.posts.imported, report.posts.failed) == (1, 0)
    for title, chosen in (("Closed", [theirs["Gold"]]), ("Paid", [])):
        [found] = await other_tenant.world.parts.records.find(
            posts, {"title": title}, tenant_id=other_tenant.id
        )
        assert found["tiers"] == chosen


@pytest.mark.parametrize("form", ["wxr", "ghost"])
async def test_there_and_back_again(
    tenant: TenantWorld, other_tenant: TenantWorld, tmp_path: Path, form: str
) -> None:
    for each in (tenant, other_tenant):
        await tiers_of(each)
    # WXR has its pictures by address, and there is no network here.
    await imported(tenant, a_site(with_picture=form == "ghost"))
    await export(tenant, form, tmp_path / "first")

    with closing(OPEN[form](tmp_path / "first", ALL)) as source:
        report = await imported(other_tenant, source)
        again = await imported(other_tenant, source)
    await export(other_tenant, form, tmp_path / "second")

    counts = {name: getattr(report, name).imported for name in ("posts", "comments", "authors")}
    assert counts == {"posts": 9, "comments": 4, "authors": 2}
    assert report.authors.skipped == report.comments.skipped == {}
    assert again.posts.imported == again.comments.imported == again.posts.updated == 0
    said = said_by_wxr if form == "wxr" else said_by_ghost
    first, second = said(tmp_path / "first", tenant), said(tmp_path / "second", other_tenant)
    assert first == second
    assert len(first["comments"]) == 4
    bodies = [
        sorted(row["body"] for row in await rows(each, "comments"))
        for each in (tenant, other_tenant)
    ]
    assert bodies[0] == bodies[1]


def said_by_wxr(path: Path, tenant: TenantWorld) -> dict[str, Any]:
    text = path.read_text().replace(tenant.host, "HOST").replace(f"[{tenant.slug}]", "[SLUG]")
    channel = etree.fromstring(text.encode())[0]
    logins = {
        _get(each, "author_login"): _get(each, "author_email") for each in _all(channel, "author")
    }
    return {
        "authors": sorted(
            tuple(_get(each, f"author_{name}") for name in ("email", "display_name", "description"))
            for each in _all(channel, "author")
            # The site itself stands for the author of posts that name none.
            if _get(each, "author_email")
        ),
        "texts": {
            _get(item, "post_name"): (_fields(item), _meta(item, logins), _get(item, "category"))
            for item in _all(channel, "item")
        },
        "comments": sorted(each for item in _all(channel, "item") for each in _words(item)),
    }


def _fields(item: Any) -> dict[str, str]:
    names = ("title", "encoded", "status", "post_type", "post_name", "post_date_gmt", "creator")
    return {name: _get(item, name) for name in names}


def _meta(item: Any, logins: dict[str, str]) -> dict[str, str]:
    found = {_get(each, "meta_key"): _get(each, "meta_value") for each in _all(item, "postmeta")}
    named = found.get("_masthead_authors", "").split()
    return {**found, "_masthead_id": "", "_masthead_authors": ",".join(logins[n] for n in named)}


def _words(item: Any) -> list[tuple[str, ...]]:
    found = {_get(each, "comment_id"): each for each in _all(item, "comment")}
    names = ("author", "author_email", "content", "approved", "date")
    return [
        (
            *(_get(each, f"comment_{name}") for name in names),
            _get(found[parent], "comment_content") if parent in found else "",
            _get(_all(each, "commentmeta")[1], "meta_value"),
        )
        for each in found.values()
        for parent in [_get(each, "comment_parent")]
    ]


def _all(element: Any, name: str) -> list[Any]:
    return [each for each in element if etree.QName(each).localname == name]


def _get(element: Any, name: str) -> str:
    return "|".join(each.text or "" for each in _all(element, name))


def said_by_ghost(path: Path, tenant: TenantWorld) -> dict[str, Any]:
    files = entries(path)
    tables = ghost_tables(files)
    posts = {each["id"]: each["slug"] for each in tables["posts"]}
    users = {each["id"]: "" if each["id"] == "1" else each["email"] for each in tables["users"]}
    tags = {each["id"]: each["name"] for each in tables["tags"]}
    words = {each["id"]: each["masthead_body"] for each in tables["comments"]}
    media = [each.split("/")[2] for each in files if each.startswith("content/")]
    names = ("title", "slug", "html", "status", "type", "visibility", "published_at")
    said = ("masthead_name", "masthead_email", "masthead_body", "masthead_status", "created_at")
    about = ("name", "slug", "email", "bio")
    listed = csv.DictReader(io.StringIO(files["members.csv"].decode("utf-8-sig")))
    return {
        "texts": {
            each["slug"]: [_without(str(each[name]), media) for name in (*names, "custom_excerpt")]
            for each in tables["posts"]
        },
        "authors": sorted(
            [str(each[name]) for name in about] for each in tables["users"] if each["id"] != "1"
        ),
        "by": sorted(
            (posts[each["post_id"]], each["sort_order"], users[each["author_id"]])
            for each in tables["posts_authors"]
        ),
        "tags": sorted(
            (posts[each["post_id"]], each["sort_order"], tags[each["tag_id"]])
            for each in tables["posts_tags"]
        ),
        "comments": sorted(
            [posts[each["post_id"]], words.get(each["parent_id"], ""), *(each[n] for n in said)]
            for each in tables["comments"]
        ),
        "members": sorted(
            [value for name, value in row.items() if name not in ("id", "created_at")]
            for row in listed
        ),
    }


def _without(text: str, ids: list[str]) -> str:
    """The stored name of a file has the id of its copy beside it, and letters of its own."""
    for each in ids:
        text = text.partition(f"/{each}/")[0]
    return text
