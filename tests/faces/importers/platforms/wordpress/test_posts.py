"""Items as posts: what is taken, what is left out and why, and how fields are made to fit."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.faces.importers.platforms.wordpress.wxr import attachment, item, only_post, read, write

from masthead.faces.importers.old_paths import old_path
from masthead.faces.importers.source import Options, Skipped, SourcePost


def reason(path: Path, text: str, options: Options | None = None) -> tuple[str, str] | None:
    (found,) = read(write(path / "export.xml", text), options)
    return (found.what, found.reason) if isinstance(found, Skipped) else None


class TestWhatIsTaken:
    @pytest.mark.parametrize(
        ("status", "expected"),
        [
            ("publish", None),
            ("Publish", None),
            ("published", None),
            ("draft", None),
            ("future", ("post", "scheduled")),
            ("private", ("post", "private")),
            ("pending", ("post", "pending review")),
            ("trash", ("post", "trashed")),
            ("auto-draft", ("post", "auto draft")),
            ("inherit", ("post", "other status")),
            ("acf-disabled", ("post", "other status")),
            ("", ("post", "other status")),
        ],
    )
    def test_status(self, tmp_path: Path, status: str, expected: tuple[str, str] | None) -> None:
        assert reason(tmp_path, item(status=status)) == expected

    @pytest.mark.parametrize(
        ("post_type", "expected"),
        [
            ("post", None),
            ("", None),
            ("page", ("page", "page")),
            ("product", ("product", "product")),
            ("product_variation", ("post", "product variation")),
            ("event", ("post", "other type of content")),
        ],
    )
    def test_type(self, tmp_path: Path, post_type: str, expected: tuple[str, str] | None) -> None:
        assert reason(tmp_path, item(post_type=post_type)) == expected

    @pytest.mark.parametrize(
        "post_type", ["attachment", "nav_menu_item", "revision", "wp_block", "wp_template"]
    )
    def test_what_is_no_content_is_not_counted(self, tmp_path: Path, post_type: str) -> None:
        assert read(write(tmp_path / "a.xml", item(post_type=post_type))) == []

    def test_a_password(self, tmp_path: Path) -> None:
        found = reason(tmp_path, item(post_password="x"))
        assert found == ("post", "password protected")

    def test_pages_and_products_when_asked_for(self, tmp_path: Path) -> None:
        path = write(
            tmp_path / "a.xml",
            item(post_type="page"),
            item(post_type="page", post_id=6, status="private"),
            item(post_type="product", post_id=7, meta={"_price": "9", "_regular_price": "12.5"}),
        )
        options = Options(include_pages=True, include_products=True)
        page, private, product = read(path, options)
        assert isinstance(page, SourcePost)
        assert page.kind == "page"
        assert page.price_cents is None
        assert private == Skipped("page", "6", "private", "A title")
        assert isinstance(product, SourcePost)
        assert (product.kind, product.price_cents, product.currency) == ("product", 1250, "")

    @pytest.mark.parametrize("price", ["", "free", "-1", "1,50", "9999999999", "1e5", "NaN"])
    def test_a_price_that_is_none(self, tmp_path: Path, price: str) -> None:
        text = item(post_type="product", meta={"_price": price})
        post = only_post(tmp_path, text, options=Options(include_products=True))
        assert post.price_cents is None

    def test_a_body_beyond_all_limits(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("masthead.faces.importers.platforms.wordpress.items.MAX_CONTENT", 1_000)
        assert reason(tmp_path, item("x" * 1_001)) == ("post", "too long")
        assert reason(tmp_path, item("x" * 1_000)) is None


class TestFields:
    def test_all_of_them(self, tmp_path: Path) -> None:
        post = only_post(
            tmp_path,
            item(
                "Hello.\n\nWorld.",
                title="Tom &amp; <em>Jerry</em>",
                excerpt="<b>Short</b> &amp; sweet",
                terms=[("category", "News &amp; Views"), ("post_tag", "a, b")],
                meta={"_thumbnail_id": "9", "_yoast_wpseo_title": "%%title%% %%sep%% %%sitename%%"},
                post_name="%e6%97%a5%e6%9c%ac",
            ),
            attachment(9, "https://old.example.com/hero.jpg", alt="A hero"),
        )
        assert post == SourcePost(
            source_id="5",
            kind="post",
            title="Tom & Jerry",
            slug="日本",
            html="<p>Hello.</p>\n<p>World.</p>",
            excerpt="Short & sweet",
            status="published",
            published_at="2024-05-01T10:00:00.000Z",
            tags=("News & Views", "a, b"),
            featured_image="https://old.example.com/hero.jpg",
            featured_image_alt="A hero",
            seo_title="Tom & Jerry - The Blog",
            old_path="/2024/05/a-title/",
            other_paths=("/?p=5",),
        )

    def test_a_draft_has_no_date(self, tmp_path: Path) -> None:
        post = only_post(tmp_path, item(status="draft"))
        assert (post.status, post.published_at, post.warnings) == ("draft", "", ())

    @pytest.mark.parametrize(
        ("written", "shown"),
        [
            ("Hello & <world>", "Hello & <world>"),
            ("Hello &amp; &lt;world&gt;", "Hello & <world>"),
            ("I <3 you, a<b and a </c> d", "I <3 you, a<b and a </c> d"),
            ("Vec<T> and <em>List</em>&lt;T>", "Vec<T> and List<T>"),
            ("one<br/>two <B class='x'>three</B>", "one two three"),
            ("The <button> and the <select>", "The and the"),
            ("a<script>alert(1)</script>b<!-- c -->d", "abd"),
            ("&#60;world&#62; &amp;amp;", "<world> &amp;"),
            ("<" * 300, "<" * 255),
        ],
    )
    def test_a_title_keeps_what_is_not_a_tag(
        self, written: str, shown: str, tmp_path: Path
    ) -> None:
        terms = [("category", written[:50])]
        post = only_post(tmp_path, item(title=written, terms=terms))
        assert post.title == shown
        assert post.tags[0][:10] == shown[:10]

    def test_no_title(self, tmp_path: Path) -> None:
        post = only_post(tmp_path, item(title=" "))
        assert (post.title, post.warnings) == ("Untitled", ("no title",))

    def test_what_is_too_long_is_cut_and_said(self, tmp_path: Path) -> None:
        meta = {"_yoast_wpseo_title": "s" * 61, "_yoast_wpseo_metadesc": "d" * 161}
        text = item(
            title="t" * 256,
            excerpt="e" * 301,
            meta=meta,
            terms=[("post_tag", "g" * 101)],
            post_name="n" * 300,
        )
        post = only_post(tmp_path, text)
        assert [len(each) for each in (post.title, post.excerpt, post.slug)] == [255, 300, 255]
        assert (len(post.seo_title), len(post.seo_description)) == (60, 160)
        assert [len(tag) for tag in post.tags] == [100]
        assert post.warnings == (
            "Tag: cut to 100 characters.",
            "Title: cut to 255 characters.",
            "SEO title: cut to 60 characters.",
            "SEO description: cut to 160 characters.",
        )

    def test_a_cut_takes_no_emoji_apart(self, tmp_path: Path) -> None:
        family = "👩\u200d👩\u200d👧\u200d👦"
        assert only_post(tmp_path, item(excerpt="c" * 298 + family + "d")).excerpt == "c" * 298
        assert only_post(tmp_path, item(excerpt="c" * 299 + "e\u0301")).excerpt == "c" * 299
        assert only_post(tmp_path, item(excerpt="c" * 299 + "😀")).excerpt == "c" * 299 + "😀"

    def test_terms_are_tags_once_and_in_order(self, tmp_path: Path) -> None:
        terms = [
            ("category", "Zebra"),
            ("", "Zebra"),
            ("post_tag", "ZEBRA"),
            ("tag", "old"),
            ("post_format", "Aside"),
            ("nav_menu", "Main"),
            ("language", "Deutsch"),
            ("genre", "Jazz"),
            ("post_tag", " "),
            ("post_tag", "C++"),
        ]
        assert only_post(tmp_path, item(terms=terms)).tags == ("Zebra", "old", "C++", "Jazz")

    def test_more_tags_than_a_post_has(self, tmp_path: Path) -> None:
        post = only_post(tmp_path, item(terms=[("post_tag", f"t{n}") for n in range(150)]))
        assert len(post.tags) == 100
        assert post.warnings == ("only the first 100 tags are imported",)

    @pytest.mark.parametrize(
        ("number", "warnings"),
        [("9", ("the featured image is not in the export",)), ("0", ()), ("", ())],
    )
    def test_a_featured_image_that_is_not_there(
        self, tmp_path: Path, number: str, warnings: tuple[str, ...]
    ) -> None:
        post = only_post(tmp_path, item(meta={"_thumbnail_id": number}))
        assert (post.featured_image, post.warnings) == ("", warnings)

    @pytest.mark.parametrize("url", ["javascript:alert(1)", "ftp://a.example/b.jpg", "a b"])
    def test_a_featured_image_that_is_no_address(self, tmp_path: Path, url: str) -> None:
        post = only_post(tmp_path, item(meta={"_thumbnail_id": "9"}), attachment(9, url))
        assert post.featured_image == ""

    @pytest.mark.parametrize(
        ("name", "slug"),
        [
            ("", ""),
            ("a-title", "a-title"),
            ("../../etc/passwd", "etc-passwd"),
            ("//evil.example", "evil.example"),
            ("a%2fb%3fc%23d", "a-b-c-d"),
            ("<script>alert(1)</script>", "script-alert(1)-script"),
            ("=cmd()", "=cmd()"),
            ("%ff%fe", "��"),
        ],
    )
    def test_slugs(self, tmp_path: Path, name: str, slug: str) -> None:
        assert only_post(tmp_path, item(post_name=name)).slug == slug


@pytest.mark.parametrize(
    ("link", "path"),
    [
        ("https://old.example.com/2024/05/a/", "/2024/05/a/"),
        ("http://other.example/a.html", "/a.html"),
        ("https://old.example.com/?p=900", "/?p=900"),
        ("https://old.example.com/a/?b=1&c=2#top", "/a/?b=1&c=2"),
        ("https://old.example.com/%e6%97%a5/", "/%e6%97%a5/"),
        ("https://old.example.com/日/", "/%E6%97%A5/"),
        ('https://old.example.com/<b>"x"/', "/%3Cb%3E%22x%22/"),
        ("https://old.example.com/with,comma/", "/with,comma/"),
        ("https://old.example.com/=cmd()/", "/=cmd()/"),
        ("https://old.example.com", ""),
        ("https://old.example.com/", ""),
        ("", ""),
        ("https://old.example.com/a\n/evil,https://evil.example,301", ""),
        ("https://old.example.com/a b", ""),
        ("https://old.example.com/2023/../../etc/", ""),
        ("https://old.example.com//evil.example/", ""),
        ("https://old.example.com/\\evil.example/", ""),
        ("javascript:alert(1)", ""),
        ("mailto:a@example.com", ""),
        ("/relative/", ""),
        ("https://[broken/", ""),
        ("https://old.example.com/" + "a" * 3000, ""),
    ],
)
def test_old_path(link: str, path: str) -> None:
    assert old_path(link) == path


class TestSourceIds:
    def test_a_number_that_several_items_have(self, tmp_path: Path) -> None:
        path = write(
            tmp_path / "a.xml",
            item(link="https://old.example.com/a/"),
            item(link="https://old.example.com/b/"),
            item(link="https://old.example.com/b/"),
            item(link=""),
        )
        ids = [post.source_id for post in read(path)]
        assert ids == [
            "5",
            "5 https://old.example.com/b/",
            "5 https://old.example.com/b/ #2",
            "5 a-title",
        ]
        assert [post.source_id for post in read(path)] == ids

    def test_other_options_do_not_change_them(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.xml", item(post_type="page"), item(link="https://a.example/b/"))
        with_pages = read(path, Options(include_pages=True))
        assert [each.source_id for each in with_pages] == [each.source_id for each in read(path)]

    @pytest.mark.parametrize(
        ("guid", "link", "name", "expected"),
        [
            ("https://g.example", "https://l.example", "n", "https://g.example"),
            ("", "https://l.example", "n", "https://l.example"),
            ("", "", "n", "n"),
            ("", "", "", "A title"),
        ],
    )
    def test_no_number(
        self, tmp_path: Path, guid: str, link: str, name: str, expected: str
    ) -> None:
        text = item(post_id=None, guid=guid, link=link, post_name=name)
        assert only_post(tmp_path, text).source_id == expected

    def test_nothing_to_go_by(self, tmp_path: Path) -> None:
        text = item(post_id="x1", guid="", link="", post_name="", title="")
        first, second = read(write(tmp_path / "a.xml", text, text))
        assert first.source_id != second.source_id
