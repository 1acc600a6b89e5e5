"""Bodies with blocks, shortcodes and comments, as HTML."""

from __future__ import annotations

import pytest
from tests.tiers import representatives

from masthead.faces.importers.platforms.wordpress.attachments import Attachments
from masthead.faces.importers.platforms.wordpress.body import to_html
from masthead.faces.importers.platforms.wordpress.items import Item

UPLOADS = "https://old.example.com/wp-content/uploads/"


@pytest.fixture
def library() -> Attachments:
    found = Attachments()
    for number, name, parent, alt, caption in [
        (101, "hero.jpg", 7, 'A "hero"', ""),
        (102, "big-scaled.jpg", 7, "", "Big &amp; <b>wide</b>"),
        (103, "song.mp3", 7, "", ""),
    ]:
        fields = {
            "post_id": str(number),
            "attachment_url": UPLOADS + name,
            "post_parent": str(parent),
            "excerpt": caption,
            "title": name,
        }
        found.add(Item(fields=fields, meta={"_wp_attachment_image_alt": alt}))
    return found


HERO = f'<img src="{UPLOADS}hero.jpg" alt="A &quot;hero&quot;">'
BIG = f'<img src="{UPLOADS}big-scaled.jpg" alt="">'
CAPTION = "<figcaption>Big &amp; wide</figcaption>"


def gallery(inside: str) -> str:
    return f'<figure data-card="gallery" class="mh-card mh-gallery">{inside}</figure>'


MISSING = "a gallery names images that the export does not have"


@pytest.mark.parametrize(
    ("content", "html"),
    [
        ("a\n<!--more Read on-->\nb\n\n<!--nextpage-->\n\nc<!-- x -->",
         "<p>a</p>\n<p>b</p>\n<p>c</p>"),
        ("a\r\n\r\nb", "<p>a</p>\n<p>b</p>"),
        ("a\n\n<pre>\n  b\n\n  c <!-- d -->\n</pre>\ne",
         "<p>a</p>\n<pre>\n  b\n\n  c <!-- d -->\n</pre>\n<p>e</p>"),
        ("<script>\nif (a\n\n< b) {}\n</script>", "<script>\nif (a\n\n< b) {}\n</script>"),
        ("a <!-- never ends\n\nb", "<p>a</p>"),
        # Shortcodes
        ('x\n[gallery ids="101,102"]\ny', f"<p>x</p>\n{gallery(HERO + BIG + CAPTION)}\n<p>y</p>"),
        ("[gallery include='102']", gallery(BIG + CAPTION)),
        ("[gallery]", gallery(HERO + BIG + CAPTION)),
        ('[gallery ids="101,999"]', gallery(HERO)),
        ('[gallery ids="999"]', '<p>[gallery ids="999"]</p>'),
        ('[caption id="attachment_1" width="9"]<img src="a" /> The <em>text</em>[/caption]',
         '<figure><img src="a" /><figcaption>The <em>text</em></figcaption></figure>'),
        ('[caption]<a href="b"> <img src="a" /></a>Text[/caption]',
         '<figure><a href="b"> <img src="a" /></a><figcaption>Text</figcaption></figure>'),
        ('[wp_caption caption="Text"]<img src="a" />[/wp_caption]',
         '<figure><img src="a" /><figcaption>Text</figcaption></figure>'),
        ("[caption]no image[/caption]", "<p>[caption]no image[/caption]</p>"),
        ("[caption]never ends <img src='a'>", "<p>[caption]never ends <img src='a'></p>"),
        ("[embed width='1']https://v.example/?a=1&amp;b=2[/embed]",
         '<p><a href="https://v.example/?a=1&amp;b=2">https://v.example/?a=1&amp;b=2</a></p>'),
        ("[embed]javascript:alert(1)[/embed]", "<p>[embed]javascript:alert(1)[/embed]</p>"),
        ('[audio mp3="https://a.example/a.mp3"][/audio]',
         '<figure><audio controls src="https://a.example/a.mp3">'
         '<a href="https://a.example/a.mp3">https://a.example/a.mp3</a></audio></figure>'),
        ("[audio https://a.example/a.mp3|https://a.example/b.mp3] text",
         '<figure><audio controls src="https://a.example/a.mp3">'
         '<a href="https://a.example/a.mp3">https://a.example/a.mp3</a></audio></figure>\n'
         "<p>text</p>"),
        ('[video width="640" mp4="https://a.example/v.mp4"]',
         '<figure><video controls src="https://a.example/v.mp4">'
         '<a href="https://a.example/v.mp4">https://a.example/v.mp4</a></video></figure>'),
        ("[video]", "<p>[video]</p>"),
        ('[playlist ids="103"]',
         f'<figure><audio controls src="{UPLOADS}song.mp3">'
         f'<a href="{UPLOADS}song.mp3">song.mp3</a></audio></figure>'),
        ("[[gallery]] and [[caption]x[/caption]]", "<p>[gallery] and [caption]x[/caption]</p>"),
        ("[contact-form-7 id='1'] [[Wiki]] [1] [video-player] [gallery_x]",
         "<p>[contact-form-7 id='1'] [[Wiki]] [1] [video-player] [gallery_x]</p>"),
        ('[sourcecode language="php"]<?php\n\necho "[gallery]"; ?>[/sourcecode]',
         '<pre><code class="language-php">&lt;?php\n\necho "[gallery]"; ?&gt;</code></pre>'),
        ("[code]&lt;script&gt;x&lt;/script&gt;<script>y</script>[/code]",
         "<pre><code>&lt;script&gt;x&lt;/script&gt;&lt;script&gt;y&lt;/script&gt;</code></pre>"),
        # Blocks
        ('<!-- wp:paragraph {"a":1} -->\n<p>One\ntwo</p>\n<!-- /wp:paragraph -->\n\n'
         "<!-- wp:list --><ul><!-- wp:list-item --><li>a</li><!-- /wp:list-item --></ul>"
         "<!-- /wp:list -->",
         "<p>One\ntwo</p>\n<ul><li>a</li></ul>"),
        ("<!-- wp:latest-posts /--><!-- wp:html --><b>x</b><!-- /wp:html -->", "<b>x</b>"),
        ("Classic\n\ntext\n<!-- wp:p --><p>b</p><!-- /wp:p -->after",
         "<p>Classic</p>\n<p>text</p>\n<p>b</p>\n<p>after</p>"),
        ("<!-- wp:freeform -->a\n\nb<!-- /wp:freeform -->", "<p>a</p>\n<p>b</p>"),
        ("<!-- wp:embed --><figure><div>\nhttps://v.example/1\n</div></figure><!-- /wp:embed -->",
         '<figure data-card="embed" class="mh-card mh-embed"><a href="https://v.example/1">'
         "<strong>https://v.example/1</strong></a><figcaption>v.example</figcaption></figure>"),
        ("<!-- wp:gallery --><figure><!-- wp:image --><figure><img src='/1.png' alt=''/>"
         "<figcaption>One</figcaption></figure><!-- /wp:image --><!-- wp:image --><figure>"
         "<img src='/2.png' alt=''/></figure><!-- /wp:image --><figcaption>All</figcaption>"
         "</figure><!-- /wp:gallery -->",
         gallery('<img src="/1.png" alt=""><img src="/2.png" alt="">'
                 "<figcaption>One · All</figcaption>")),
        ('<!-- wp:embed {"url":"https://v.example/1"} /-->',
         '<figure data-card="embed" class="mh-card mh-embed"><a href="https://v.example/1">'
         "<strong>https://v.example/1</strong></a><figcaption>v.example</figcaption></figure>"),
        # Values of our own exports that others have changed.
        ('<!-- wp:embed {"url":"https://v.example/1","masthead":{"title":7,"image":[]}} /-->',
         '<figure data-card="embed" class="mh-card mh-embed"><a href="https://v.example/1">'
         "<strong>https://v.example/1</strong></a><figcaption>v.example</figcaption></figure>"),
        ("<p>a</p>\n<!-- wp:jetpack/subscriptions /-->",
         '<p>a</p>\n<p data-card="join" class="mh-card mh-join">'
         '<a href="/member/sign-up">Join</a></p>'),
        ("<!-- wp:buttons --><div><!-- wp:button --><div><a href='/x'>X</a></div>"
         "<!-- /wp:button --></div><!-- /wp:buttons -->",
         '<p data-card="button" class="mh-card mh-button"><a href="/x">X</a></p>'),
        ("<!-- wp:details --><details><summary>S</summary><!-- wp:paragraph --><p>In</p>"
         "<!-- /wp:paragraph --></details><!-- /wp:details -->",
         '<details data-card="toggle" class="mh-card mh-toggle"><summary>S</summary><p>In</p>'
         "</details>"),
        ('<!-- wp:shortcode -->[gallery ids="101"]<!-- /wp:shortcode -->', gallery(HERO)),
        ('<!-- wp:cover {"url":"https://a.example/c.jpg"} --><div style="x">t</div>'
         "<!-- /wp:cover -->",
         '<figure><img src="https://a.example/c.jpg" alt="" /></figure><div style="x">t</div>'),
        ('<!-- wp:cover {"url":"https://a.example/c.jpg"} -->'
         '<div><img src="https://a.example/c.jpg"/>t</div><!-- /wp:cover -->',
         '<div><img src="https://a.example/c.jpg"/>t</div>'),
        ("<!-- wp:cover {not json -->t<!-- /wp:cover -->", "t"),
        ("<!-- /wp:group --><!-- wp:group -->a\n\nb", "a\n\nb"),
    ],
)  # fmt: skip
def test_html(library: Attachments, content: str, html: str) -> None:
    assert to_html(content, library, 7)[0] == html


@pytest.mark.parametrize(
    ("content", "warnings"),
    [
        ("[gallery ids='101']", ()),
        ("[gallery ids='101,999'] [gallery ids='998']", (MISSING,)),
        ("[playlist ids='999']", ("a playlist names files that the export does not have",)),
        ("<!-- wp:b/c /--><!-- wp:block {\"ref\":1} /--><!-- wp:block /-->",
         ("left out blocks without content: b/c, block",)),
    ],
)  # fmt: skip
def test_what_is_missing_is_said(
    library: Attachments, content: str, warnings: tuple[str, ...]
) -> None:
    assert to_html(content, library, 7)[1] == warnings


def test_a_shortcode_is_no_way_to_make_much_of_little(library: Attachments) -> None:
    html, _ = to_html("[gallery]" * 10_000, library, 7)
    assert html.count("<img") <= 4_000
    assert html.count("[gallery]") >= 8_000, "the others stay as they are"


def test_a_block_that_is_kept_once_is_no_such_way_either(library: Attachments) -> None:
    content = '<!-- wp:block {"ref":1} /-->' * 2_000
    html, warnings = to_html(content, library, 7, {1: "x" * 80_000})
    assert len(html) < 1_000_000
    assert warnings == ("left out blocks without content: block",)


@pytest.mark.parametrize("name", ["details", "audio", "buttons", "b"])
def test_blocks_in_blocks_are_no_such_way_either(library: Attachments, name: str) -> None:
    """Reading the inside again for each of them would not end within the suite's own limit."""
    start, end = f"<!-- wp:{name} -->", f"<!-- /wp:{name} -->"
    html, _ = to_html(start * 5_000 + "<b>x</b>" * 500 + end * 5_000, library, 7)
    assert html.count("<b>") == 500


@pytest.mark.parametrize("part", ["<b>", "a\n\n"])
def test_a_body_of_nothing_but_pieces_is_left_as_it_is(library: Attachments, part: str) -> None:
    html, warnings = to_html(part * 150_000, library, 7)
    assert html == part * 150_000
    assert warnings == ("has too many tags and lines and was not changed",)


@pytest.mark.parametrize(
    "part",
    representatives([
        "<", "<p ", '<a b="', "<!--", "<!-- wp:a -->", "<pre>", "<div>", "</p>", "[caption]",
        "[gallery ids=\"101\"", "[[gallery]", "[embed]", "\n ", "<br>", "https://a.example\n",
        "<script", "[code]", '<!-- wp:cover {"url":"https://a.example/"} -->', "&", "]", "<a =",
    ], 4),
)  # fmt: skip
def test_time_grows_with_the_length_and_no_faster(library: Attachments, part: str) -> None:
    """Quadratic time would not end within the suite's own limit."""
    to_html(part * (400_000 // len(part)), library, 7)
