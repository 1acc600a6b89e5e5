"""Real and hostile exports, where the corpus is at hand: read with the counts that another parser
found in them, or refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from masthead.importers.source import BadFile, Options, Skipped, SourcePost
from masthead.importers.wordpress.source import open_wordpress

CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "wordpress"
pytestmark = pytest.mark.skipif(not CORPUS.exists(), reason="the shared corpus is not here")

REFUSED = {
    "hostile/billion-laughs.xml": "DOCTYPE",
    "hostile/deep-xml-nesting.xml": "nested deeper",
    "hostile/empty.xml": "empty",
    "hostile/external-dtd.xml": "DOCTYPE",
    "hostile/internal-entity-harmless.xml": "DOCTYPE",
    "hostile/many-attributes.xml": "a tag that is longer",
    "hostile/not-wxr-atom.xml": "not a WordPress export",
    "hostile/not-wxr-rss-feed.xml": "not a WordPress export",
    "hostile/not-xml.html": "not a WordPress export",
    "hostile/only-whitespace.xml": "empty",
    "hostile/quadratic-blowup.xml": "DOCTYPE",
    "hostile/truncated-in-cdata.xml": "truncated",
    "hostile/truncated-mid-item.xml": "truncated",
    "hostile/xxe-file.xml": "DOCTYPE",
    "hostile/xxe-http.xml": "DOCTYPE",
    "hostile/xxe-parameter-entity.xml": "DOCTYPE",
    "real/invalid-version-tag.xml": "version",
    "real/malformed-simple.xml": "truncated",
    "real/malformed.xml": "not well-formed at line 90",
    "real/missing-version-tag.xml": "not a WordPress export",
}
# Published, drafts, left out.
COUNTS = {
    "hostile/duplicate-post-ids.xml": (3, 0, 0),
    "hostile/redirect-injection.xml": (4, 0, 0),
    "real/large-authors.xml": (0, 0, 0),
    "real/mg-attachments-only.xml": (0, 0, 1),
    "real/mg-has-meta.xml": (0, 0, 1),
    "real/mg-pages-only.xml": (0, 0, 1),
    "real/mg-posts-only.xml": (2, 1, 1),
    "real/mg-sample-with-alt.xml": (1, 0, 1),
    "real/namespace-edge-cases.xml": (6, 0, 0),
    "real/nikola-wordpress_unicode_export.xml": (1, 0, 1),
    "real/small-export.xml": (5, 0, 6),
    "real/term-formats.xml": (0, 0, 0),
    "real/test-serialized-postmeta-with-cdata.xml": (0, 1, 0),
    "real/test-utw-post-meta-import.xml": (0, 1, 0),
    # 56 are published, and one of them has a password.
    "real/theme-unit-test-data.xml": (55, 1, 130),
    "real/valid-wxr-1.0.xml": (3, 0, 3),
    "real/valid-wxr-1.1.xml": (1, 0, 1),
    "real/wagtail-raw_xml.xml": (1, 0, 4),
    "real/woocommerce-sample_products.xml": (0, 0, 47),
    "real/wxr-comprehensive.xml": (1, 0, 1),
    "real/wxr-flat-attachment-different-site.xml": (1, 0, 1),
    "real/wxr-flat-attachment-same-site.xml": (1, 0, 1),
    "synthetic/blocks-shortcodes-excerpts.xml": (11, 0, 0),
    "synthetic/dates.xml": (7, 1, 0),
    "synthetic/images.xml": (8, 0, 3),
    "synthetic/no-items.xml": (0, 0, 0),
    "synthetic/permalinks-and-slugs.xml": (23, 1, 2),
    "synthetic/statuses-and-types.xml": (3, 1, 33),
    "synthetic/unicode-and-cdata.xml": (6, 0, 0),
    "synthetic/unicode-utf8-bom.xml": (6, 0, 0),
}
ONE_POST = (1, 0, 0)
FILES = sorted(path.relative_to(CORPUS).as_posix() for path in CORPUS.glob("*/*"))


def read(name: str, options: Options | None = None) -> list[SourcePost | Skipped]:
    source = open_wordpress(CORPUS / name, options or Options())
    try:
        found = list(source.posts())
        assert source.overview.posts == len(found)
    finally:
        source.close()
    return found


def posts(name: str, options: Options | None = None) -> list[SourcePost]:
    return [each for each in read(name, options) if isinstance(each, SourcePost)]


@pytest.mark.parametrize("name", FILES)
def test_every_file(name: str) -> None:
    if name in REFUSED:
        with pytest.raises(BadFile, match=REFUSED[name]):
            read(name)
        return
    found = read(name)
    counts = Counter(each.status for each in found if isinstance(each, SourcePost))
    skipped = sum(isinstance(each, Skipped) for each in found)
    assert (counts["published"], counts["draft"], skipped) == COUNTS.get(name, ONE_POST)
    ids = [each.source_id for each in found if isinstance(each, SourcePost)]
    assert len(set(ids)) == len(ids)
    assert read(name) == found, "the same file is read the same way again"
    for each in found:
        if isinstance(each, SourcePost):
            assert not any(character in each.html for character in "\x00\x02\x03\x0b")
            assert not each.old_path or each.old_path.startswith("/")
            assert each.old_path.isascii()


def test_products() -> None:
    found = posts("real/woocommerce-sample_products.xml", Options(include_products=True))
    assert len(found) == 18
    assert {post.kind for post in found} == {"product"}
    assert all(post.featured_image for post in found)
    prices = {post.title: post.price_cents for post in found}
    assert prices["Album"] == 1500


def test_pages() -> None:
    options = Options(include_pages=True)
    found = Counter((post.kind, post.status) for post in posts("real/small-export.xml", options))
    assert found == {("post", "published"): 5, ("page", "published"): 4, ("page", "draft"): 1}


def test_the_theme_unit_test_has_its_galleries_and_captions() -> None:
    found = {post.title: post for post in posts("real/theme-unit-test-data.xml")}
    assert len([post for post in found.values() if post.featured_image]) >= 6
    bodies = "\n".join(post.html for post in found.values())
    assert "[caption" not in bodies
    assert "<!-- wp:" not in bodies
    assert "<!--more" not in bodies
    assert "<figcaption>" in bodies


def test_dates() -> None:
    found = {post.title: post.published_at for post in posts("synthetic/dates.xml")}
    assert found == {
        "Local differs from GMT by a day": "2024-03-01T03:30:00.000Z",
        "Draft without GMT date": "",
        "Published but GMT zero": "2009-04-01T12:00:00.000Z",
        "pubDate with offset": "2020-07-15T18:30:00.000Z",
        "Before 1970": "1969-07-20T20:17:40.000Z",
        "Leap second day": "2016-02-29T23:59:59.000Z",
        "Far future published": "2099-12-31T23:59:59.000Z",
        "Garbage date": "2018-08-08T08:08:08.000Z",
    }


def test_what_is_injected_into_links_is_no_redirect() -> None:
    paths = [post.old_path for post in posts("hostile/redirect-injection.xml")]
    assert paths == [
        "",
        "",
        "/2023/06///evil.example/",
        "/2023/06/%3Cscript%3Ealert(1)%3C/script%3E/",
    ]


def test_letters() -> None:
    for name, title in [
        ("hostile/wrong-encoding-latin1-as-utf8.xml", "Déjà vu"),
        ("synthetic/encoding-latin1.xml", "Déjà vu"),
    ]:
        (post,) = posts(name)
        assert post.title == title
    (post,) = posts("real/backslashes.xml")
    assert "\\" in post.html
