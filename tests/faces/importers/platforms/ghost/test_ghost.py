"""Ghost exports of all versions, from the file to posts, pages and members."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from masthead.faces.importers.platforms.ghost import links
from masthead.faces.importers.platforms.ghost.bodies import NO_ADDRESS, UNREADABLE
from masthead.faces.importers.platforms.ghost.posts import HAS_PREVIEW, UNDATED
from masthead.faces.importers.platforms.ghost.reader import GhostSource, open_ghost
from masthead.faces.importers.source import (
    PAYWALL,
    BadFile,
    Options,
    Skipped,
    SourceAuthor,
    SourceMember,
    SourcePost,
)

Table = list[dict[str, Any]]
LEXICAL = json.dumps(
    {"root": {"children": [{"type": "paragraph", "children": [{"type": "text", "text": "Lex"}]}]}}
)
MOBILEDOC = json.dumps({"version": "0.3.1", "sections": [[1, "p", [[0, [], 0, "Mob"]]]]})


class Export:
    """Writes an export of a site into a folder and opens it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "site.ghost.2024-05-06.json"

    def write(self, **tables: Table) -> Path:
        data = {"db": [{"meta": {"version": "5.130.2"}, "data": tables}]}
        self.path.write_text(json.dumps(data))
        return self.path

    def posts(self, *rows: Any, options: Options | None = None, **tables: Table) -> list[Any]:
        path = self.write(posts=list(rows), **tables)
        with closing(open_ghost(path, options or Options())) as source:
            assert source.overview.posts == len(rows)
            return list(source.posts())

    def members(self, *rows: Any, **tables: Table) -> list[Any]:
        path = self.write(posts=[], members=list(rows), **tables)
        with closing(open_ghost(path, Options())) as source:
            return list(source.members())


@pytest.fixture
def export(tmp_path: Path) -> Export:
    return Export(tmp_path)


def row(**given: Any) -> dict[str, Any]:
    return {
        "id": "p1",
        "title": "Hello",
        "slug": "hello",
        "html": "<p>Text.</p>",
        "type": "post",
        "status": "published",
        "visibility": "public",
        "published_at": "2024-05-06T07:08:09.000Z",
        **given,
    }


def test_a_post_with_all_that_belongs_to_it(export: Export) -> None:
    (post,) = export.posts(
        row(
            custom_excerpt="Short.",
            feature_image="__GHOST_URL__/content/images/a.png",
            html='<p><a href="__GHOST_URL__/other/">x</a><a href="__GHOST_URL__">home</a></p>'
            "<!--kg-card-begin: html--><b>y</b><!--kg-card-end: html--><!--members-only-->",
        ),
        tags=[
            {"id": "t1", "name": "News"},
            {"id": "t2", "name": "#internal"},
            {"id": "t3", "name": "First"},
            {"id": "t4", "name": "Hidden", "visibility": "internal"},
        ],
        posts_tags=[
            {"post_id": "p1", "tag_id": "t1", "sort_order": 1},
            {"post_id": "p1", "tag_id": "t2", "sort_order": 2},
            {"post_id": "p1", "tag_id": "t3", "sort_order": 0},
            {"post_id": "p1", "tag_id": "t4", "sort_order": 3},
            {"post_id": "p1", "tag_id": "gone", "sort_order": 4},
            {"post_id": "p2", "tag_id": "t1", "sort_order": 0},
        ],
        posts_meta=[
            {
                "post_id": "p1",
                "meta_title": "SEO",
                "meta_description": "About",
                "feature_image_alt": "Alt",
            }
        ],
        options=Options(site_url="https://old.example"),
    )
    assert post == SourcePost(
        source_id="p1",
        kind="post",
        title="Hello",
        slug="hello",
        html='<p><a href="https://old.example/other/">x</a><a href="https://old.example">home</a>'
        "</p><b>y</b>",
        excerpt="Short.",
        status="published",
        visibility="public",
        published_at="2024-05-06T07:08:09.000Z",
        tags=("First", "News"),
        featured_image="https://old.example/content/images/a.png",
        featured_image_alt="Alt",
        seo_title="SEO",
        seo_description="About",
        old_path="/hello/",
    )


def test_without_an_address_links_to_the_site_become_paths_and_it_is_said(export: Export) -> None:
    (post,) = export.posts(
        row(html='<img src="__GHOST_URL__/content/images/a.png"><a href="__GHOST_URL__">home</a>')
    )
    assert post.html == '<img src="/content/images/a.png"><a href="/">home</a>'
    assert post.warnings == (NO_ADDRESS,)


@pytest.mark.parametrize(
    ("forms", "html", "warnings"),
    [
        ({"html": "<p>Html</p>", "lexical": LEXICAL}, "<p>Html</p>", ()),
        ({"html": None, "lexical": LEXICAL, "mobiledoc": MOBILEDOC}, "<p>Lex</p>", ()),
        ({"html": " ", "mobiledoc": MOBILEDOC}, "<p>Mob</p>", ()),
        ({"html": None, "markdown": "# Hi\n\n*x*"}, "<h1>Hi</h1>\n<p><em>x</em></p>", ()),
        (
            {"html": None, "lexical": "{no json", "plaintext": "a<\nb\n\nc"},
            "<p>a&lt;<br>b</p><p>c</p>",
            (UNREADABLE,),
        ),
        ({"html": None, "mobiledoc": "[]", "plaintext": ""}, "", (UNREADABLE,)),
        ({"html": None, "lexical": "[" * 100_000, "plaintext": "x"}, "<p>x</p>", (UNREADABLE,)),
        ({"html": {"a": 1}, "lexical": 5}, "", ()),
        ({"html": "<p>\x00bad \ud83d</p>"}, "<p>bad \ufffd</p>", ()),
        (
            {"html": None, "lexical": '{"root":{"children":[{"type":"nft"}]}}'},
            "",
            ("A card of an unknown kind was left out: nft.",),
        ),
    ],
)
def test_bodies(
    forms: dict[str, Any], html: str, warnings: tuple[str, ...], export: Export
) -> None:
    (post,) = export.posts(row(**forms))
    assert post.html == html
    assert post.warnings == warnings


@pytest.mark.parametrize(
    ("given", "visibility"),
    [
        ("public", "public"),
        ("members", "members"),
        ("paid", "paid"),
        ("tiers", "paid"),
        ("status:-free,label:vip", "paid"),
        (None, "public"),
    ],
)
def test_visibility(given: str | None, visibility: str, export: Export) -> None:
    (post,) = export.posts(row(visibility=given))
    assert post.visibility == visibility


@pytest.mark.parametrize("visibility", ["public", "members", "paid"])
def test_the_end_of_a_public_preview_is_marked_where_there_is_one(
    visibility: str, export: Export
) -> None:
    html = "<p>Teaser</p><!--members-only--><p>More</p>"
    (post,) = export.posts(row(visibility=visibility, html=html))
    if visibility == "public":
        assert (post.html, post.warnings) == ("<p>Teaser</p><p>More</p>", ())
    else:
        assert post.html == f"<p>Teaser</p>{PAYWALL}<p>More</p>"
        assert post.warnings == (HAS_PREVIEW,)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("scheduled", "scheduled"),
        ("mystery", "unknown status"),
        (["published"], "unknown status"),
        (None, "unknown status"),
    ],
)
def test_other_statuses_are_left_out_with_the_reason(
    status: Any, reason: str, export: Export
) -> None:
    assert export.posts(row(status=status)) == [Skipped("post", "p1", reason, "Hello")]


def test_a_post_that_was_only_emailed_gets_no_page_and_no_redirect(export: Export) -> None:
    [post] = export.posts(row(status="sent"))
    assert isinstance(post, SourcePost)
    assert (post.status, post.email_only) == ("published", True)
    assert (post.old_path, post.other_paths) == ("", ())


@pytest.mark.parametrize(("status", "email_only"), [("draft", True), ("published", False)])
def test_a_draft_that_is_meant_for_email_stays_so(
    export: Export, status: str, email_only: bool
) -> None:
    meta = [{"post_id": "p1", "email_only": 1}]
    [post] = export.posts(row(status=status), posts_meta=meta)
    assert isinstance(post, SourcePost)
    assert post.email_only is email_only


@pytest.mark.parametrize("flags", [{"type": "page"}, {"type": None, "page": 1}, {"page": True}])
def test_pages_are_left_out_unless_asked_for(flags: dict[str, Any], export: Export) -> None:
    assert export.posts(row(**flags)) == [Skipped("page", "p1", "page", "Hello")]
    (page,) = export.posts(row(**flags), options=Options(include_pages=True))
    assert page.kind == "page"


def test_a_draft_has_no_date_and_a_published_post_without_one_says_so(export: Export) -> None:
    draft, undated, future = export.posts(
        row(status="draft"),
        row(published_at=None),
        row(published_at="9999-12-31T23:59:59.000Z"),
    )
    assert draft.published_at == undated.published_at == future.published_at == ""
    assert draft.warnings == ()
    assert undated.warnings == future.warnings == (UNDATED,)


def test_a_post_of_the_first_versions(export: Export) -> None:
    export.path.write_text(
        json.dumps(
            {
                "meta": {"version": "003"},
                "data": {
                    "posts": [
                        {
                            "id": 7,
                            "title": "Old",
                            "slug": "old",
                            "markdown": "text",
                            "image": "/content/images/2014/01/a.jpg",
                            "page": 0,
                            "status": "published",
                            "published_at": 1388318310783,
                            "meta_title": "SEO",
                        }
                    ],
                    "tags": [{"id": 1, "name": "A"}, {"id": 2, "name": "B"}],
                    "posts_tags": [{"post_id": 7, "tag_id": 2}, {"post_id": 7, "tag_id": 1}],
                },
            }
        )
    )
    (post,) = open_ghost(export.path, Options()).posts()
    assert isinstance(post, SourcePost)
    assert post.source_id == "7"
    assert post.html == "<p>text</p>"
    assert post.published_at == "2013-12-29T11:58:30.783Z"
    assert post.featured_image == "/content/images/2014/01/a.jpg"
    assert post.seo_title == "SEO"
    assert post.tags == ("B", "A")


@pytest.mark.parametrize(
    ("slug", "site_url", "path"),
    [
        ("hello", "https://x.example", "/hello/"),
        ("hello", "https://x.example/blog", "/blog/hello/"),
        ("ümlaut", "", "/%C3%BCmlaut/"),
        ("../a?b#c", "", "/..%2Fa%3Fb%23c/"),
        (123, "", ""),
        (None, "", ""),
    ],
)
def test_old_paths(slug: Any, site_url: str, path: str, export: Export) -> None:
    (post,) = export.posts(row(slug=slug), options=Options(site_url=site_url))
    assert post.old_path == path


def test_rows_that_are_no_posts_are_counted(export: Export) -> None:
    assert export.posts(None, "text", 5, []) == [Skipped("post", "", "not a post")] * 4


def test_a_number_of_hundreds_of_digits_is_still_a_name(export: Export) -> None:
    (post,) = export.posts(row(id=10**400))
    assert len(post.source_id) == 64


def test_members_of_a_backup(export: Export) -> None:
    members = export.members(
        {"id": "1", "email": "Paid@Example.com", "name": "P", "status": "paid"},
        {"id": "2", "email": "comped@example.com", "status": "comped"},
        {"id": "3", "email": "gift@example.com", "status": "gift"},
        {"id": "4", "email": "free@example.com", "status": "free", "email_disabled": 1},
        {"id": "5", "email": "odd@example.com", "status": "mystery", "name": 5},
        {"id": "6", "email": "not an address"},
        "no row",
        members_stripe_customers=[{"member_id": "1", "customer_id": "cus_1"}],
        members_newsletters=[{"member_id": "1"}, {"member_id": "4"}],
        products=[{"id": "9", "name": "Gold"}, "no row"],
        members_products=[
            {"member_id": "1", "product_id": "9"},
            {"member_id": "1", "product_id": "8"},
        ],
    )
    paid = {"payment_customer_id": "cus_1", "levels": ("Gold",)}
    assert members == [
        SourceMember("paid@example.com", "P", "paid", **paid),
        SourceMember("comped@example.com", tier="paid", newsletter=False),
        SourceMember("gift@example.com", tier="paid", newsletter=False),
        SourceMember("free@example.com", newsletter=False),
        SourceMember("odd@example.com", newsletter=False),
        Skipped("member", "row 6", "invalid email address", "not an address"),
        Skipped("member", "row 7", "invalid email address"),
    ]


def test_members_before_there_was_a_status(export: Export) -> None:
    members = export.members(
        {"id": "1", "email": "comped@example.com", "subscribed": 1},
        {"id": "2", "email": "ended@example.com", "subscribed": 0},
        {"id": "3", "email": "free@example.com", "subscribed": 1},
        members_stripe_customers=[
            {"member_id": "1", "customer_id": "cus_1"},
            {"member_id": "2", "customer_id": "cus_2"},
        ],
        members_stripe_customers_subscriptions=[
            {"customer_id": "cus_1", "status": "active", "plan_nickname": "Complimentary"},
            {"customer_id": "cus_2", "status": "canceled"},
        ],
    )
    assert [(each.tier, each.newsletter) for each in members] == [
        ("paid", True),
        ("free", False),
        ("free", True),
    ]


CSV = (
    "id,email,name,note,subscribed_to_emails,complimentary_plan,stripe_customer_id,created_at,"
    "deleted_at,labels,tiers\n"
    "1,free@example.com,Free,,true,,,2024-01-02T03:04:05.000Z,,,\n"
    "2,comped@example.com,,,false,true,,,,,\n"
    "3,paid@example.com,,,true,,cus_1,,,,Gold\n"
    "4,gone@example.com,,,true,,,,2024-01-01T00:00:00.000Z,,\n"
    "5,nobody,,,true,,,,,,\n"
)
MEMBERS = [
    SourceMember("free@example.com", "Free", created="2024-01-02T03:04:05.000Z"),
    SourceMember("comped@example.com", tier="paid", newsletter=False),
    SourceMember("paid@example.com", tier="paid", payment_customer_id="cus_1", levels=("Gold",)),
    Skipped("member", "row 4", "deleted at the source"),
    Skipped("member", "row 5", "invalid email address", "nobody"),
]


@pytest.fixture
def folder(export: Export) -> Path:
    """The JSON, the list of members and an image, as a site is packed to be moved."""
    export.write(posts=[row()], tags=[])
    top = export.path.parent
    (top / "members.csv").write_text(CSV)
    (top / "notes.csv").write_text("just,words\n")
    (top / "package.json").write_text('{"name": "theme"')
    images = top / "content/images/2024"
    images.mkdir(parents=True)
    (images / "a.png").write_bytes(b"png")
    files = top / "content/files"
    files.mkdir()
    (files / "download.csv").write_text("email\nsomebody@example.com\n")
    return top


def packed(folder: Path, into: Path, top: str = "") -> Path:
    with zipfile.ZipFile(into, "w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, f"{top}{path.relative_to(folder)}")
    return into


@pytest.fixture(params=["folder", "zip", "zip with one top folder"])
def source(
    request: pytest.FixtureRequest, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GhostSource]:
    elsewhere = tmp_path_factory.mktemp("packed")
    path = {
        "folder": lambda: folder,
        "zip": lambda: packed(folder, elsewhere / "a.zip"),
        "zip with one top folder": lambda: packed(folder, elsewhere / "b.zip", "my export/"),
    }[request.param]()
    with closing(open_ghost(path, Options(site_url="https://x.example"))) as opened:
        yield opened


def test_a_packed_site_has_posts_members_and_images(source: GhostSource) -> None:
    assert len(list(source.posts())) == 1
    assert list(source.members()) == MEMBERS
    assert source.overview.members == 3
    entry = source.overview.files["/content/images/2024/a.png"]
    assert source.overview.files["https://x.example/content/images/2024/a.png"] == entry
    assert source.read_file(entry) == b"png"


def test_a_list_of_members_alone(folder: Path) -> None:
    with closing(open_ghost(folder / "members.csv", Options())) as source:
        assert list(source.posts()) == []
        assert list(source.members()) == MEMBERS


def test_the_json_alone_does_not_take_what_lies_beside_it(folder: Path, export: Export) -> None:
    with closing(open_ghost(export.path, Options())) as source:
        assert list(source.members()) == []


def test_what_was_not_asked_for_is_not_given(folder: Path) -> None:
    with closing(open_ghost(folder, Options(skip_members=True))) as source:
        assert (source.overview.members, list(source.members())) == (0, [])
        assert len(list(source.posts())) == 1
    with closing(open_ghost(folder, Options(skip_posts=True))) as source:
        assert (source.overview.posts, list(source.posts())) == (0, [])
        assert list(source.members()) == MEMBERS


def test_two_exports_in_one_folder_are_refused(folder: Path, export: Export) -> None:
    (folder / "older.json").write_text(export.path.read_text())
    with pytest.raises(BadFile, match="2 Ghost exports"):
        open_ghost(folder, Options())


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("members.csv", "name\nAnn\n"),
        ("members.csv", ""),
        ("export.json", ""),
        ("export.json", '{"db":[{"data":{"posts":[{"id":"1"'),
    ],
)
def test_other_files_are_refused(name: str, content: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(BadFile):
        open_ghost(path, Options())


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text("{}")
    with pytest.raises(BadFile):
        open_ghost(tmp_path, Options())


def test_more_links_than_there_is_room_for_are_refused(
    export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "MAX_HELD", 10_000)
    path = export.write(posts=[row()], posts_tags=[{"post_id": "p1", "tag_id": "t"}] * 200)
    with pytest.raises(BadFile, match="links"):
        open_ghost(path, Options())
    monkeypatch.setattr(links, "MAX_POSTS", 2)
    with pytest.raises(BadFile, match="more than 2 posts"):
        open_ghost(export.write(posts=[row()] * 3), Options())


USERS: Table = [
    {"id": "u1", "name": "Ada", "email": "Ada@Example.com", "bio": "First."},
    {"id": "u2", "name": "Bob", "email": "bob@example.com"},
    {"id": "u3", "name": "Nobody", "email": "no address"},
]


class TestAuthors:
    def test_posts_name_them_in_their_order(self, export: Export) -> None:
        path = export.write(
            posts=[row(), row(id="p2", author_id="u2"), row(id="p3", author_id="gone")],
            users=USERS,
            posts_authors=[
                {"post_id": "p1", "author_id": "u1", "sort_order": 1},
                {"post_id": "p1", "author_id": "u2", "sort_order": 0},
            ],
        )
        with closing(open_ghost(path, Options(include_authors=True))) as source:
            found = list(source.authors())
            assert [each.authors for each in source.posts()] == [("u2", "u1"), ("u2",), ()]
            assert source.overview.left_out == {}
        assert found == [
            SourceAuthor("u1", "ada@example.com", "Ada", "First."),
            SourceAuthor("u2", "bob@example.com", "Bob", ""),
            Skipped("author", "u3", links.NO_EMAIL),
        ]

    def test_nobody_is_named_unless_asked_for(self, export: Export) -> None:
        path = export.write(posts=[row(author_id="u1")], users=USERS)
        with closing(open_ghost(path, Options())) as source:
            assert list(source.authors()) == []
            assert [each.authors for each in source.posts()] == [()]
            assert source.overview.left_out == {"authors": 3}
