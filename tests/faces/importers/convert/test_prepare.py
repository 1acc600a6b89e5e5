"""A post made ready: its pictures, its two forms, and their addresses rewritten."""

from __future__ import annotations

import pickle
import xml.etree.ElementTree as ET

import pytest
from tests import corpus

from masthead.engine.records.fields import documents
from masthead.faces.importers.convert import content
from masthead.faces.importers.convert.content import Prepared, prepare, rewrite
from masthead.faces.importers.source import SourcePost

SITE = "https://old.example.com"
CONTENT = "{http://purl.org/rss/1.0/modules/content/}encoded"

SUBSTACK = "https://substackcdn.com/image/fetch"
INNER = "https%3A%2F%2Fsubstack-post-media.s3.amazonaws.com%2Fpublic%2Fimages%2Fab_640x480.png"
CAPTIONED = f"""
<div class="captioned-image-container"><figure><a class="image-link image2 is-viewable-img"
 target="_blank" href="{SUBSTACK}/$s_!x!,f_auto,q_auto:good/{INNER}"
 data-component-name="Image2ToDOM"><div class="image2-inset"><picture>
<source type="image/webp" srcset="{SUBSTACK}/$s_!x!,w_424,c_limit/{INNER} 424w,
 {SUBSTACK}/$s_!x!,w_1456,c_limit/{INNER} 1456w" sizes="100vw">
<img src="{SUBSTACK}/$s_!x!,w_1456,c_limit/{INNER}" width="640" height="480"
 data-attrs="{{&quot;src&quot;:&quot;https://a.example/hidden.png&quot;}}" class="sizing" alt=""
 srcset="{SUBSTACK}/$s_!x!,w_424,c_limit/{INNER} 424w, {SUBSTACK}/w_848/{INNER} 848w"
 sizes="100vw" fetchpriority="high"></picture><div class="image-link-expand"><button><svg><g>
<title></title></g></svg></button></div></div></a></figure></div>"""


def ready(html: str, site_url: str = SITE, featured_image: str = "") -> Prepared:
    post = SourcePost("7", "post", "Title", html=html, featured_image=featured_image)
    return prepare(post, site_url)


def originals(html: str, site_url: str = SITE) -> list[str]:
    return [image.original_url for image in ready(html, site_url).images]


@pytest.mark.parametrize("around", ["{}", "<p>{}</p>", "<figure>{}</figure>", "x{}y"])
def test_a_player_is_an_embed(around: str) -> None:
    frame = '<iframe src="https://www.youtube.com/embed/dQw4w9WgXcQ?rel=0"></iframe>'
    prepared = ready(around.format(frame))
    assert (
        '<figure data-card="embed" class="mh-card mh-embed">'
        '<a href="https://www.youtube.com/watch?v=dQw4w9WgXcQ">'
    ) in prepared.html
    assert "<figure><figure" not in prepared.html
    assert prepared.content_json is not None
    assert any(each["type"] == "embed" for each in prepared.content_json["content"])


def test_an_address_without_a_player_stays_a_link() -> None:
    link = '<p><a href="https://a.example/x">https://a.example/x</a></p>'
    assert ready(link).html == link


def test_a_picture_with_all_its_wrappers_is_one() -> None:
    prepared = ready(CAPTIONED)
    (image,) = prepared.images
    assert image.original_url == (
        "https://substack-post-media.s3.amazonaws.com/public/images/ab_640x480.png"
    )
    assert len(image.urls) == 4
    assert image.source_id == "7"
    assert "hidden.png" not in prepared.html
    new = "https://demo.example/media/a/b.png"
    html, document = rewrite(prepared.html, prepared.content_json, dict.fromkeys(image.urls, new))
    assert "substack" not in html
    assert html.count(new) == 4
    assert f'srcset="{new} 848w"' in html
    assert document is not None
    assert document["content"] == [
        {
            "type": "paragraph",
            "content": [
                {
                    "type": "image",
                    "attrs": {"src": new, "width": 640, "height": 480},
                    "marks": [{"type": "link", "attrs": {"href": new, "target": "_blank"}}],
                }
            ],
        }
    ]


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<img src='/a.png'>", ["a.png"]),
        ("<img src=a.png srcset='b.png 2x, /c,d.png 3x'>", ["a.png", "b.png", "c,d.png"]),
        ("<picture><source srcset='a.avif'><img src='a.jpg'></picture>", ["a.jpg", "a.avif"]),
        ("<video src=a.mp4 poster=p.jpg><source src=b.webm></video>", ["p.jpg"]),
        ("<div style='background-image: url(\"a b.png\")'>x</div>", ["a%20b.png"]),
        ("<a href='/full.png'>text</a>", ["full.png"]),
        ("<a href='/page/'>text</a><a href='/a.pdf'>x</a><a href='#a.png'>x</a>", []),
        ("<a href='https://other.example/a.png'>their picture</a>", []),
        ("<img src='data:text/plain,x'><img src='javascript:x'>", []),
        ("&lt;img src=a.png&gt; <!-- <img src=b.png> -->", []),
    ],
)
def test_where_pictures_are_mentioned(html: str, found: list[str]) -> None:
    assert sorted(originals(html)) == sorted(f"{SITE}/{name}" for name in found)


def test_a_link_to_the_full_size_elsewhere_is_followed_where_the_picture_is_shown_from() -> None:
    html = '<a href="https://cdn.example/full.png"><img src="https://cdn.example/small.png"></a>'
    assert originals(html) == ["https://cdn.example/small.png", "https://cdn.example/full.png"]
    wiki = '<a href="https://wiki.example/File:A.png"><img src="https://cdn.example/a.png"></a>'
    assert originals(wiki) == ["https://cdn.example/a.png"]


def test_the_featured_image_is_among_them() -> None:
    prepared = ready("<img src='/wp-content/a-300x200.jpg'>", featured_image="/wp-content/a.jpg")
    (image,) = prepared.images
    assert image.urls == ("/wp-content/a.jpg", "/wp-content/a-300x200.jpg")


def test_without_a_text_there_is_no_document_and_no_reason() -> None:
    assert ready("") == Prepared("7", "", None, "", ())


def test_what_keeps_a_post_from_the_editor_is_told() -> None:
    prepared = ready("<p>It's <abbr title=x>y</abbr></p>")
    assert (prepared.content_json, prepared.why_html_only) == (None, "<abbr>")


def test_a_document_that_could_not_be_stored_is_none() -> None:
    # Eighteen thousand parts, which say more in JSON than in HTML.
    prepared = ready("<p><b><i><u>word</u></i></b></p>" * 9_000)
    assert (prepared.content_json is None, prepared.why_html_only) == (False, "")
    prepared = ready(f"<p><b><i><u>{'word' * 25}</u></i></b></p>" * 9_000)
    assert prepared.why_html_only == "a document of more than 2 MB"
    assert content.MAX_DOCUMENT < documents.MAX_BYTES
    assert prepared.content_json is None


def test_processes_can_share_the_work() -> None:
    prepared = ready(CAPTIONED)
    assert pickle.loads(pickle.dumps(prepared)) == prepared


OLD, NEW = "https://old.example.com/a&b.png", "https://demo.example/media/x/a.png"


@pytest.mark.parametrize(
    ("html", "rewritten"),
    [
        ('<img src="{}" alt="{}">', '<img src="{new}" alt="{old}">'),
        ("<IMG SRC='{}'>", '<IMG SRC="{new}">'),
        ("<img src={} width=1>", '<img src="{new}" width=1>'),
        ('<img data-src="{}" src="{}">', '<img data-src="{old}" src="{new}">'),
        ('<a\n href = "{}">{}</a>', '<a\n href = "{new}">{old}</a>'),
        ('<video poster="{}">', '<video poster="{new}">'),
        ('<img srcset="{} 1x, b.png 2x">', '<img srcset="{new} 1x, b.png 2x">'),
        ('<img srcset="{} 1x, {} 2x">', '<img srcset="{new} 2x">'),
        (
            "<p style=\"color: red; background: url('{}') top\">",
            "<p style=\"color: red; background: url('{new}') top\">",
        ),
        ('<a title="x > y" href="{}">', '<a title="x > y" href="{new}">'),
        ('<img src="{}x">', '<img src="{old}x">'),
        ("<p>src={} href='{}'</p>", "<p>src={old} href='{old}'</p>"),
    ],
)
def test_addresses_in_html(html: str, rewritten: str) -> None:
    # However the HTML was written: the owner may have edited it since.
    old = OLD.replace("&", "&amp;")
    given = html.replace("{}", old)
    assert rewrite(given, None, {OLD: NEW})[0] == rewritten.format(new=NEW, old=old)


def test_addresses_in_the_document() -> None:
    document = {
        "type": "doc",
        "content": [
            {"type": "image", "attrs": {"src": OLD, "alt": OLD[:5], "width": 3}},
            {"type": "text", "text": OLD, "marks": [{"type": "link", "attrs": {"href": OLD}}]},
        ],
    }
    _, rewritten = rewrite("", document, {OLD: NEW})
    assert rewritten == {
        "type": "doc",
        "content": [
            {"type": "image", "attrs": {"src": NEW, "alt": OLD[:5], "width": 3}},
            {"type": "text", "text": OLD, "marks": [{"type": "link", "attrs": {"href": NEW}}]},
        ],
    }
    assert document["content"][0]["attrs"]["src"] == OLD  # type: ignore[index]


def test_nothing_to_rewrite() -> None:
    assert rewrite("<img src=a>", None, {}) == ("<img src=a>", None)


UPLOADS = f"{SITE}/wp-content/uploads/2021/06"
PHOTON = "https://i1.wp.com/old.example.com/wp-content/uploads/2021/06"
TEXT = f"""
<figure><a href="{UPLOADS}/pier.jpg"><img src="{UPLOADS}/pier-1024x683.jpg"
 srcset="{UPLOADS}/pier-300x200.jpg 300w, {UPLOADS}/pier-scaled.jpg 2560w"></a></figure>
<p><img src="{UPLOADS}/boats-e1623000000000-150x150.jpg"><img src="{UPLOADS}/plank-2x4.jpg"></p>
<div style="background-image:url({UPLOADS}/cover.jpg)">Over it</div>
<video src="{UPLOADS}/film.mp4" poster="{UPLOADS}/poster.jpg"></video>
<p><img src="{PHOTON}/photon-640x480.jpg?fit=640%2C480&amp;ssl=1">
<img src="https://tide.files.wordpress.com/2021/06/hosted.jpg?w=600"></p>
<p><img src="/wp-content/uploads/2021/06/möwe.png"><img src="//cdn.example/far.gif">
<img src="wp-content/uploads/2021/06/near.png"></p>
<p><img src="http://169.254.169.254/latest/"><img src="http://[::1]/inside.png"></p>
<p><img src="file:///etc/passwd"><img src="javascript:alert(1)"><img src="data:text/html,x"></p>
<!-- <img src="{UPLOADS}/commented.jpg"> --><p>&lt;img src="{UPLOADS}/escaped.jpg"&gt;</p>
"""


def test_every_picture_of_a_text_is_found_once_in_its_full_size() -> None:
    assert sorted(originals(TEXT)) == sorted(
        [
            *(f"{UPLOADS}/{name}" for name in ("pier.jpg", "boats-e1623000000000.jpg")),
            *(f"{UPLOADS}/{name}" for name in ("plank-2x4.jpg", "cover.jpg", "poster.jpg")),
            *(f"{UPLOADS}/{name}" for name in ("photon.jpg", "m%C3%B6we.png", "near.png")),
            "https://tide.files.wordpress.com/2021/06/hosted.jpg",
            "https://cdn.example/far.gif",
            # Found, so that the refusal is told.
            "http://169.254.169.254/latest/",
            "http://[::1]/inside.png",
        ]
    )


def test_pictures_of_the_corpus() -> None:
    for path in corpus.found("wordpress/synthetic/images.xml"):
        bodies = [item.findtext(CONTENT) or "" for item in ET.parse(path).getroot().iter("item")]
        found = {image.original_url for body in bodies for image in ready(body).images}
        uploads = f"{SITE}/wp-content/uploads/2023/05"
        names = ("big.jpg", "photo-e1612345678901.jpg", "name-with-2x4-inside.jpg", "cover.jpg")
        others = ("poster.jpg", "photon.jpg", "%C3%BCml%C3%A4ut.png")
        assert found >= {f"{uploads}/{name}" for name in (*names, *others)}
        assert "http://169.254.169.254/latest/meta-data/" in found
        assert f"{uploads}/big-scaled.jpg" not in found
        assert not any("file:" in url or "javascript:" in url for url in found)
