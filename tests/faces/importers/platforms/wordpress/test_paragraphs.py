"""Classic text as paragraphs, in the cases that WordPress's own tests of it are about."""

from __future__ import annotations

import pytest

from masthead.faces.importers.platforms.wordpress.paragraphs import linked_addresses, paragraphs


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("", ""),
        (" \n\n ", ""),
        ("One line.", "<p>One line.</p>"),
        ("First.\nSame.\n\nSecond.", "<p>First.<br />\nSame.</p>\n<p>Second.</p>"),
        ("a\n \t\nb\n\n\n\nc", "<p>a</p>\n<p>b</p>\n<p>c</p>"),
        ("a<br><br/>b<br>\nc", "<p>a</p>\n<p>b<br />c</p>"),
        ("<p>a\nb</p>\n\n<p>c</p>", "<p>a<br />\nb</p>\n<p>c</p>"),
        ("<p>a\n\nb</p>", "<p>a</p>\n<p>b</p>"),
        ("<p>a<div>b</div>c\n\nd", "<p>a<div>b</div>\n<p>c</p>\n<p>d</p>"),
        ("<h2>Title</h2>\nText", "<h2>Title</h2>\n<p>Text</p>"),
        ("Text\n<h2>Title</h2>", "<p>Text</p>\n<h2>Title</h2>"),
        ("a\n<hr />\nb", "<p>a</p>\n<hr />\n<p>b</p>"),
        ("<div>in</div>", "<div>in</div>"),
        ("<div>\nin\n</div>", "<div>in</div>"),
        ("<div>\n\nin\n\n</div>", "<div><p>in</p>\n</div>"),
        ("<div>a\n\nb</div>", "<div><p>a</p>\n<p>b</p>\n</div>"),
        ("<div><h2>x</h2>text</div>", "<div><h2>x</h2>\n<p>text</p>\n</div>"),
        ("a<div>in</div>b", "<p>a</p>\n<div>in</div>\n<p>b</p>"),
        ("<blockquote>Q</blockquote>\nA", "<blockquote><p>Q</p>\n</blockquote>\n<p>A</p>"),
        ("<blockquote>a\n\nb</blockquote>", "<blockquote><p>a</p>\n<p>b</p>\n</blockquote>"),
        ("<ul>\n<li>a</li>\n<li>b\nc</li>\n</ul>\n\nx",
         "<ul><li>a</li>\n<li>b<br />\nc</li>\n</ul>\n<p>x</p>"),
        ("<table>\n<tr>\n<td>a</td>\n</tr>\n</table>",
         "<table><tr><td>a</td>\n</tr>\n</table>"),
        ("<figure><img src='a'>\n<figcaption>c</figcaption>\n</figure>",
         "<figure><img src='a'><figcaption>c</figcaption>\n</figure>"),
        ("<a href='x'><img src='a'></a>\n\nb", "<p><a href='x'><img src='a'></a></p>\n<p>b</p>"),
        ("<div class='x'\n id='y'>t</div>", "<div class='x'\n id='y'>t</div>"),
        ("<img alt='a > b' src='x'>", "<p><img alt='a > b' src='x'></p>"),
        ("1 < 2 & 3 <3", "<p>1 < 2 & 3 <3</p>"),
        ("<em>a</em>\n<strong>b</strong>", "<p><em>a</em><br />\n<strong>b</strong></p>"),
        ("one\ntwo <em>three</em>\nfour <b>five</b> \n six",
         "<p>one<br />\ntwo <em>three</em><br />\nfour <b>five</b><br />\n six</p>"),
        ("<br>\n<br>\n<br>\nx", "<p>x</p>"),
        ("a\n\n<span>\n\n</span>", "<p>a</p>\n<span></span>"),
    ],
)  # fmt: skip
def test_paragraphs(text: str, html: str) -> None:
    assert paragraphs(text) == html


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("https://a.example/b?c=1&amp;d=2",
         '<p><a href="https://a.example/b?c=1&amp;d=2">https://a.example/b?c=1&amp;d=2</a></p>'),
        ("see\nhttps://a.example\nthere",
         '<p>see<br />\n<a href="https://a.example">https://a.example</a><br />\nthere</p>'),
        ("see https://a.example there", "<p>see https://a.example there</p>"),
        ('<a href="https://a.example">https://a.example</a>',
         '<p><a href="https://a.example">https://a.example</a></p>'),
    ],
)  # fmt: skip
def test_addresses_that_stand_alone_become_links(text: str, html: str) -> None:
    assert linked_addresses(paragraphs(text)) == html


def test_a_page_that_is_already_html_keeps_its_paragraphs() -> None:
    html = "<p>One.</p>\n<h2>Two</h2>\n<ul><li>Three</li>\n</ul>\n<p>Four.</p>"
    assert paragraphs(html) == html
