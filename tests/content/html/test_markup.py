"""Foreign HTML made safe: what stays, what goes, and what it may cost."""

from __future__ import annotations

from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import representatives, rounds
from tests.work import at_most

from masthead.content.html.markup import Token, background_of, cleaned, cleaned_or_plain, tokens_of
from masthead.content.html.sanitizer import TAGS

GIF = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="

VIDEO = '<video controls=""></video>'
OPENED = "<video></video>"
QUOTED = "<blockquote><q>y</q></blockquote>"
TABLE = "<table><tbody><tr><td>y</td></tr></tbody></table>"


def safe(html: str) -> str:
    return cleaned(html)[0]


@pytest.mark.parametrize(
    "html",
    [
        "<p>Text with <b>bold</b>, <i>italic</i>, <code>code</code> &amp; <mark>more</mark></p>",
        '<figure><img src="a.jpg" alt=""><figcaption>Said</figcaption></figure>',
        '<picture><source srcset="a.webp 1x, b.webp 2x" type="image/webp"><img src="a.jpg">'
        "</picture>",
        '<video src="a.mp4" poster="a.jpg" controls=""></video>',
        '<audio controls=""><source src="a.mp3" type="audio/mpeg"></audio>',
        "<table><caption>c</caption><thead><tr><th>h</th></tr></thead><tbody><tr>"
        '<td colspan="2">d</td></tr></tbody></table>',
        '<pre><code class="language-python">if a &lt; b:\n    pass</code></pre>',
        '<p>Note<sup id="ref1"><a href="#fn1">1</a></sup></p>'
        '<ol><li id="fn1">It is so. <a href="#ref1">back</a></li></ol>',
        '<h2 id="chapter">Chapter</h2>',
        '<p style="text-align: center">middle</p>',
        '<div style="background-image: url(https://a.example/b,c.jpg)">cover</div>',
        '<p lang="he" dir="rtl">שלום</p>',
        '<p>Before</p><hr class="paywall"><p>After</p><hr>',
        '<details open=""><summary>More</summary><p>x</p></details>',
        '<a href="https://a.example/?a=1&amp;b=2" title="t" target="_blank" rel="nofollow">x</a>',
        '<a href="mailto:a@example.com">x</a><a href="/relative">y</a>',
        '<ul data-type="taskList"><li data-type="taskItem" data-checked="true"><label>'
        '<input type="checkbox" disabled="" checked=""></label><div><p>done</p></div></li></ul>',
        f'<img src="{GIF}" alt="dot">',
        "<dl><dt>a</dt><dd>b</dd></dl><hr><blockquote><p>q</p></blockquote>",
        'a&nbsp;b &lt;script&gt; "quoted"',
    ],
)
def test_what_stays_as_it_is(html: str) -> None:
    assert safe(html) == html


@pytest.mark.parametrize(
    ("html", "left"),
    [
        ("<script>alert(1)</script>a<style>b{}</style>", "a"),
        ('<img src="a.jpg" onerror="alert(1)">', '<img src="a.jpg">'),
        ('<a href="javascript:alert(1)">x</a>', "<a>x</a>"),
        ('<a href="data:text/html,x">x</a>', "<a>x</a>"),
        ('<a href=" JaVaScRiPt:alert(1)">x</a>', "<a>x</a>"),
        ('<a href=" data:text/html,x">x</a>', "<a>x</a>"),
        ('<a href="\tdata:text/html,x">x</a>', "<a>x</a>"),
        ('<a href="\x01data:text/html,x">x</a>', "<a>x</a>"),
        ('<a href="&#10;data:text/html,x">x</a>', "<a>x</a>"),
        ('<a href="&#x1;da&Tab;ta&colon;text/html,x">x</a>', "<a>x</a>"),
        ('<a href="java\tscript:alert(1)">x</a>', "<a>x</a>"),
        ('<a href="java&NewLine;script&colon;alert(1)">x</a>', "<a>x</a>"),
        ('<a href=" https://a.example/">x</a>', '<a href="https://a.example/">x</a>'),
        ('<a href="/x" rel="opener">x</a>', '<a href="/x">x</a>'),
        (
            '<a href="/x" target="_blank" rel="nofollow Opener">x</a>',
            '<a href="/x" target="_blank" rel="nofollow">x</a>',
        ),
        ('<img src=" data:text/html;base64,AAAA">', ""),
        ('<img srcset="\tdata:text/html,x 1x">', ""),
        ('<video src="\tdata:text/html,x" poster=" data:text/html,x"></video>', VIDEO),
        ('<video><source src=" data:text/html,x"><track src=" data:text/html,x"></video>', OPENED),
        ('<audio src=" data:text/html,x"></audio>', '<audio controls=""></audio>'),
        ('<blockquote cite=" data:text/html,x"><q cite="javascript:x">y</q></blockquote>', QUOTED),
        ('<table background="javascript:x"><tr><td background=" data:text/html,x">y', TABLE),
        ('<form action="javascript:x">a<input formaction="javascript:x"></form>', "a"),
        ('<svg><a xlink:href="javascript:x">a</a></svg><math href="javascript:x">b</math>', "b"),
        ('<img src="data:text/html;base64,AAAA">', ""),
        ('<img src="javascript:alert(1)">', ""),
        ('<img src="file:///etc/passwd">', ""),
        ('<img srcset="javascript:x 1x, b.png 2x">', '<img srcset="b.png 2x" src="b.png">'),
        ("<img>", ""),
        ('<div style="background-image:url(javascript:x)">y</div>', "<div>y</div>"),
        ('<p style="position:fixed;text-align:right">x</p>', '<p style="text-align: right">x</p>'),
        ('<p class="has-text-align-center x">x</p>', '<p style="text-align: center">x</p>'),
        ('<p align="RIGHT">x</p>', '<p style="text-align: right">x</p>'),
        ('<p class="wp-block" data-attrs="{}" id="p1">x</p>', "<p>x</p>"),
        ('<form action="/x"><input type="password">a<button>b</button></form>', "a"),
        ('<input type="checkbox">', ""),
        ('<hr class="wp-block-separator">', "<hr>"),
        (
            '<ul data-type="taskList"><li data-type="taskItem">a</li></ul><input><ul><li><input>',
            '<ul data-type="taskList"><li data-type="taskItem">a</li></ul><ul><li></li></ul>',
        ),
        ("<svg><title>t</title><script>x</script></svg>a", "a"),
        ("<object><param name=a value=b>a</object>", "a"),
        ("<font color=red>a</font><center>b</center><o:p>c</o:p>", "abc"),
        ('<img src="a.jpg" width="100%" height="200px">', '<img src="a.jpg" height="200">'),
        ('<code class="hljs lang-c++ x">y</code>', '<code class="language-c++">y</code>'),
        ('<ul data-type="evil"><li>x</li></ul>', "<ul><li>x</li></ul>"),
        ('<a target="_top" rel="&quot;x">x</a>', "<a>x</a>"),
        ("<audio src=a.mp3 autoplay></audio>", '<audio src="a.mp3" controls=""></audio>'),
        ("<!-- c -->a<?php b ?><![CDATA[c]]>", "a"),
        ("a\0b\udcffc", "ab?c"),
        ("<pre>\n\na</pre>", "<pre>\n\na</pre>"),
        ("<pre>\na</pre>", "<pre>a</pre>"),
    ],
)
def test_what_goes(html: str, left: str) -> None:
    assert safe(html) == left


YOUTUBE = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"


@pytest.mark.parametrize(
    ("html", "address"),
    [
        ('<iframe src="https://www.youtube.com/embed/dQw4w9WgXcQ?rel=0"></iframe>', YOUTUBE),
        ("<iframe src='//www.youtube-nocookie.com/embed/dQw4w9WgXcQ' allow=x></iframe>", YOUTUBE),
        ("<IFRAME data-src=https://youtube.com/embed/dQw4w9WgXcQ></IFRAME>", YOUTUBE),
        ('<object><embed src="http://www.youtube.com/v/dQw4w9WgXcQ&amp;hl=en"></object>', YOUTUBE),
        ('<iframe src="https://player.vimeo.com/video/123?h=1"></iframe>', "https://vimeo.com/123"),
        ('<iframe srcdoc="<p>">', ""),
        (
            '<iframe title="a>b" src="https://a.example/?x=1&amp;y=2">',
            "https://a.example/?x=1&amp;y=2",
        ),
        ('<iframe src="javascript:alert(1)"></iframe>', ""),
        (
            '<iframe src="https://a.example/&quot;><script>alert(1)</script>"></iframe>',
            "https://a.example/&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;",
        ),
    ],
)
def test_players_become_links(html: str, address: str) -> None:
    # Between the tags a quote needs no escape.
    text = address.replace("&quot;", '"')
    assert safe(html) == (f'<p><a href="{address}">{text}</a></p>' if address else "")


@pytest.mark.parametrize(
    "html",
    [
        f'<img src="{GIF}" data-src="a.jpg"><noscript><img src="a.jpg"></noscript>',
        "<img class=lazy data-lazy-src='a.jpg'>",
        f"<img data-original=a.jpg src='{GIF}'>",
        '<img src="a.jpg" data-src="b.jpg">',
    ],
)
def test_pictures_that_load_late(html: str) -> None:
    assert safe(html) == '<img src="a.jpg">'


def test_late_sizes() -> None:
    html = '<img data-src="a.jpg" data-srcset="b.jpg 2x">'
    assert safe(html) == '<img src="a.jpg" srcset="b.jpg 2x">'


def test_what_stands_in_for_a_script() -> None:
    html = '<script src=gist.js></script><noscript><a href="/gist">See it</a></noscript>b<noscript>'
    assert safe(html) == '<a href="/gist">See it</a>b'


def test_long_texts_are_resolved_in_parts() -> None:
    short, long = "&amp;lt; &lt;b&gt; words&nbsp;", "x" * 150_000
    for text in (short * 20_000, long + short * 9_000, short * 9_000 + long, f"{long}&amp;{long}"):
        [token] = tokens_of(text)
        assert token.name == unescape(text)


def test_tokens_say_the_same() -> None:
    _, tokens = cleaned('<p>a &amp; b<br><a href="/?x&amp;y">c</a></p>')
    assert tokens == [
        Token("start", "p"),
        Token("text", "a & b"),
        Token("start", "br"),
        Token("start", "a", {"href": "/?x&y"}),
        Token("text", "c"),
        Token("end", "a"),
        Token("end", "p"),
    ]


@pytest.mark.parametrize(
    ("style", "url"),
    [
        ("background-image: url(a.jpg)", "a.jpg"),
        ("background:#fff url('a b.jpg') no-repeat", "a b.jpg"),
        ('color:red;background-image:url( "a.jpg" )', "a.jpg"),
        ("background-image:none", ""),
    ],
)
def test_backgrounds(style: str, url: str) -> None:
    assert background_of(style) == url


@pytest.mark.parametrize(
    "piece",
    representatives(
        [
            "<div>",
            "<ul><li>",
            "<blockquote>",
            "<table><tr><td>",
            "<b>",
            "<p><b lang={}>",
            "<font size={}>",
            "<a href={}>",
            "<iframe ",
            '<iframe a="',
            "<img data-src='",
            "<noscript>",
            "<",
            "</",
            "<!--",
            "&lt;",
            "<div style='background:url(",
            "<img srcset='a (' src=b data-src>",
        ],
        4,
    ),
)
def test_no_text_costs_much(piece: str) -> None:
    html = "".join(piece.format(number) for number in range(20_000)) + "end"
    # A tenth of it is usual; the square of the length would be minutes.
    with at_most(5):
        shown, _ = cleaned_or_plain(html)
    assert len(shown) < 20 * len(html)


def test_deep_nesting_keeps_its_text() -> None:
    shown, tokens = cleaned(
        "<div>" * 5_000 + "<p>in the <b>middle</b></p>" + "</div>" * 5_000 + "<p>end</p>"
    )
    assert "<p>in the middle</p>" in shown or "<p>in the <b>middle</b></p>" in shown
    assert shown.endswith("<p>end</p>")
    assert shown.count("<div>") == 100
    assert sum(token.kind == "start" for token in tokens) == sum(
        token.kind == "end" for token in tokens
    )


def test_more_tags_than_a_book_has_leave_the_text() -> None:
    assert safe("<i>a</i>" * 120_000).split() == ["a"] * 120_000


def test_many_paragraphs_without_an_end_are_not_deep() -> None:
    assert safe("<p>a" * 500).count("<p>") == 500


class _Opened(HTMLParser):
    """Collects the tags that another parser finds in the output."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


_PIECES = """
<p> </p> <div style=' background:url( text-align:center )'> " ' < > <img src= <a href= javascript:x
<svg> </svg> <math> <style> <script> </script> <iframe <noscript> </noscript> <pre> &lt;
&quot; &amp; href=&Tab;data:text/html,x rel=opener>
<ul <li data-type=taskList> data-type=taskItem> <input <table> <td> <!-- --> <b> </b>
text onclick=x data:image/png,x srcset='a data-src=z &nbsp; <h2 id=x> </h2> #x
"""


@settings(max_examples=rounds(120, 900), deadline=None)
@given(st.lists(st.sampled_from([*_PIECES.split(), " ", "\n", "\xa0"]), max_size=25).map("".join))
def test_nothing_acts_and_a_second_time_changes_nothing(html: str) -> None:
    shown, tokens = cleaned(html)
    opened = _Opened()
    opened.feed(shown)
    opened.close()
    starts = [(token.name, token.attributes) for token in tokens if token.kind == "start"]
    assert opened.found == starts
    for name, attributes in starts:
        assert name in TAGS
        assert not any(key.startswith("on") for key in attributes)
        for key in ("href", "src", "srcset", "poster", "style"):
            assert "javascript:" not in attributes.get(key, "")
            assert "data:text" not in attributes.get(key, "")
        assert "opener" not in attributes.get("rel", "").split()
    assert safe(shown) == shown
