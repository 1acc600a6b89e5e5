"""Exports of our own, and of the corpus: read with the counts that are in them, or refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests import corpus
from tests.faces.importers.platforms.wordpress.wxr import read
from tests.faces.importers.samples import wordpress
from tests.faces.importers.samples.sample import LEFT_OUT, Sample, as_it_is, cases, check

from masthead.faces.importers.source import Options, SourcePost

# Of the corpus.
REFUSED = {
    "wordpress/hostile/billion-laughs.xml": "DOCTYPE",
    "wordpress/hostile/deep-xml-nesting.xml": "nested deeper",
    "wordpress/hostile/empty.xml": "empty",
    "wordpress/hostile/external-dtd.xml": "DOCTYPE",
    "wordpress/hostile/internal-entity-harmless.xml": "DOCTYPE",
    "wordpress/hostile/many-attributes.xml": "a tag that is longer",
    "wordpress/hostile/not-wxr-atom.xml": "not a WordPress export",
    "wordpress/hostile/not-wxr-rss-feed.xml": "not a WordPress export",
    "wordpress/hostile/not-xml.html": "not a WordPress export",
    "wordpress/hostile/only-whitespace.xml": "empty",
    "wordpress/hostile/quadratic-blowup.xml": "DOCTYPE",
    "wordpress/hostile/truncated-in-cdata.xml": "truncated",
    "wordpress/hostile/truncated-mid-item.xml": "truncated",
    "wordpress/hostile/xxe-file.xml": "DOCTYPE",
    "wordpress/hostile/xxe-http.xml": "DOCTYPE",
    "wordpress/hostile/xxe-parameter-entity.xml": "DOCTYPE",
    "wordpress/real/invalid-version-tag.xml": "version",
    "wordpress/real/malformed-simple.xml": "truncated",
    "wordpress/real/malformed.xml": "not well-formed at line 90",
    "wordpress/real/missing-version-tag.xml": "not a WordPress export",
}
# Published, drafts, left out.
COUNTS = {
    "wordpress/hostile/duplicate-post-ids.xml": (3, 0, 0),
    "wordpress/hostile/redirect-injection.xml": (4, 0, 0),
    "wordpress/real/large-authors.xml": (0, 0, 0),
    "wordpress/real/mg-attachments-only.xml": (0, 0, 0),
    "wordpress/real/mg-has-meta.xml": (0, 0, 1),
    "wordpress/real/mg-pages-only.xml": (0, 0, 1),
    "wordpress/real/mg-posts-only.xml": (2, 1, 1),
    "wordpress/real/mg-sample-with-alt.xml": (1, 0, 0),
    "wordpress/real/namespace-edge-cases.xml": (6, 0, 0),
    "wordpress/real/nikola-wordpress_unicode_export.xml": (1, 0, 1),
    "wordpress/real/small-export.xml": (5, 0, 6),
    "wordpress/real/term-formats.xml": (0, 0, 0),
    "wordpress/real/test-serialized-postmeta-with-cdata.xml": (0, 1, 0),
    "wordpress/real/test-utw-post-meta-import.xml": (0, 1, 0),
    # 56 are published, and one of them has a password.
    "wordpress/real/theme-unit-test-data.xml": (55, 1, 23),
    "wordpress/real/valid-wxr-1.0.xml": (3, 0, 3),
    "wordpress/real/valid-wxr-1.1.xml": (1, 0, 1),
    "wordpress/real/wagtail-raw_xml.xml": (1, 0, 4),
    "wordpress/real/woocommerce-sample_products.xml": (0, 0, 25),
    "wordpress/real/wxr-comprehensive.xml": (1, 0, 1),
    "wordpress/real/wxr-flat-attachment-different-site.xml": (1, 0, 0),
    "wordpress/real/wxr-flat-attachment-same-site.xml": (1, 0, 0),
    "wordpress/synthetic/blocks-shortcodes-excerpts.xml": (11, 0, 0),
    "wordpress/synthetic/dates.xml": (7, 1, 0),
    "wordpress/synthetic/images.xml": (8, 0, 0),
    "wordpress/synthetic/no-items.xml": (0, 0, 0),
    "wordpress/synthetic/permalinks-and-slugs.xml": (23, 1, 2),
    "wordpress/synthetic/statuses-and-types.xml": (3, 1, 20),
    "wordpress/synthetic/unicode-and-cdata.xml": (6, 0, 0),
    "wordpress/synthetic/unicode-utf8-bom.xml": (6, 0, 0),
}
ONE_POST = (1, 0, 0)


def of_the_corpus() -> Iterator[Sample]:
    for path in corpus.found("wordpress/*/*"):
        name = corpus.name_of(path)
        published, drafts, left_out = COUNTS.get(name, ONE_POST)
        told = {"post/published": published, "post/draft": drafts, LEFT_OUT: left_out}
        yield Sample(name, partial(as_it_is, path), told, refusal=REFUSED.get(name, ""))


@pytest.mark.parametrize("sample", cases([*wordpress.SAMPLES, *of_the_corpus()]))
def test_every_sample(sample: Sample, tmp_path: Path) -> None:
    check(sample, tmp_path, Options())


def posts(path: Path, content: str | bytes, **options: Any) -> list[SourcePost]:
    export = path / "export.xml"
    export.write_bytes(content if isinstance(content, bytes) else content.encode())
    return [each for each in read(export, Options(**options)) if isinstance(each, SourcePost)]


def test_dates(tmp_path: Path) -> None:
    found = {post.title: post.published_at for post in posts(tmp_path, wordpress.DATED)}
    expected = {title: date for title, *_, date in wordpress.DATES}
    assert found == {**expected, "Never": ""}


def test_slugs_and_old_paths(tmp_path: Path) -> None:
    found = [(post.slug, post.old_path) for post in posts(tmp_path, wordpress.ADDRESSED)]
    assert found == [(slug, path) for *_, slug, path in wordpress.ADDRESSES]


@pytest.mark.parametrize(
    "name", [name for name in wordpress.READ if "latin" in name or "-" in name]
)
def test_encodings(name: str, tmp_path: Path) -> None:
    (post,) = posts(tmp_path, wordpress.READ[name][0])
    assert post.title == wordpress.LETTERS
    assert post.html.startswith("<p>Façade, naïve")
    assert post.html.endswith("– „so“ …</p>" if "1252" in name else "«so»</p>")


def test_letters_slashes_and_ends_of_texts(tmp_path: Path) -> None:
    found = {post.title: post.html for post in posts(tmp_path, wordpress.TEXTS)}
    assert found == {
        "emoji": "<p>🌊🚣🏽‍♀️ and 👩‍👩‍👧</p>",
        "scripts": "<p>潮が満ちる, מים גבוהים, مدّ عالٍ, прилив</p>",
        "invisible": "<p>soft\u00adhy\u200bphen\u2060s and na\u00efve nai\u0308ve</p>",
        "escaped": "<p>1 &lt; 2 &amp;&amp; 3 &gt; 2 &amp;amp; &#8212; &hellip;</p>",
        "ended": "<p>var a = b[c[0]]>1; end ]]></p>",
        "slashes": r"<p>C:\tides\new \\server 'd\'arcy' \u00e9</p>",
        "Salt & <light> ☃": "<p>Text</p>",
    }


def test_texts_in_pieces(tmp_path: Path) -> None:
    found = [(post.title, post.html) for post in posts(tmp_path, wordpress.PIECES)]
    assert found == [
        ("Pieces", "<p>one two ]]> <b>three</b></p>"),
        ("Lines", "<p>in</p>"),
        ("Nearly nothing", ""),
    ]


def test_damage_is_repaired(tmp_path: Path) -> None:
    for name in ("control characters", "a NUL", "an include", "line ends of Windows"):
        (post,) = posts(tmp_path, wordpress.READ[name][0])
        assert post.html in ("<p>Nothing to see.</p>", "<p>Façade, naïve, «so»</p>")


def test_products(tmp_path: Path) -> None:
    found = posts(tmp_path, wordpress.SHOP, include_products=True)
    assert [(post.kind, post.title, post.price_cents) for post in found] == [
        ("product", "Tide clock", 4950),
        ("product", "Map", 1200),
    ]
    assert {post.featured_image.rpartition("/")[2] for post in found} == {"pier.jpg"}


def test_pages(tmp_path: Path) -> None:
    found = posts(tmp_path, wordpress.STATUSES_AND_TYPES, include_pages=True)
    assert Counter(post.kind for post in found) == {"post": 3, "page": 2}


def test_what_belongs_to_a_post(tmp_path: Path) -> None:
    (post,) = posts(tmp_path, wordpress.BELONGINGS)
    assert post.tags == ("Boats & oars", "tide, low")
    assert (post.seo_title, post.html) == ("Found", "<p>With all that belongs to it.</p>")


@pytest.mark.parametrize("name", ["blocks", "shortcodes", "classic texts"])
def test_nothing_of_an_editor_is_left_in_a_text(name: str, tmp_path: Path) -> None:
    for post in posts(tmp_path, wordpress.READ[name][0]):
        assert "<!--" not in post.html
        if post.title not in ("gallery-without-pictures", "escaped", "code"):
            assert not any(code in post.html for code in ("[caption", "[gallery", "[audio"))


def test_galleries_and_captions(tmp_path: Path) -> None:
    found = {post.title: post for post in posts(tmp_path, wordpress.READ["shortcodes"][0])}
    assert "<figcaption>At the <b>pier</b></figcaption>" in found["caption"].html
    assert "<figcaption>An old one</figcaption>" in found["old-caption"].html
    gallery = found["gallery"].html
    assert gallery.index("boats-scaled.jpg") < gallery.index("pier.jpg")
    assert "<figcaption>Boats at noon</figcaption>" in gallery
    of_the_post = found["gallery-of-the-post"].html
    assert of_the_post.count('<figure data-card="gallery"') == of_the_post.count("<figure") == 1
    assert of_the_post.count("<img") == 2
    assert found["escaped"].html == "<p>Write [gallery] for a gallery.</p>"
    assert '[gallery ids="901,902"]' in found["gallery-without-pictures"].html
