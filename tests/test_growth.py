"""Whatever reads the text of a stranger takes time in proportion to its length: twice the text
never takes four times as long."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest
from tests.growth import MOST, growth

from masthead.base.email_address import is_email, normal_email
from masthead.base.errors import MastheadError
from masthead.content.html.clean_texts import cleaned_or_plain_text, cleaned_text
from masthead.content.html.effort import effort_of
from masthead.content.html.foreign_html import flattened, presanitized, without_tags
from masthead.content.html.markup import background_of, tokens_of
from masthead.content.html.sanitizer import TooCostly
from masthead.content.html.srcset import safe_srcset
from masthead.content.texts.alt_texts import alts_in
from masthead.content.texts.blocks import blocks_of
from masthead.content.texts.difference import compare_words, difference
from masthead.content.texts.markdown import convert
from masthead.engine.records.filter.parser import parse
from masthead.engine.records.read.plain_text import plain_text
from masthead.engine.records.read.projection import Projection
from masthead.engine.records.read.sorting import parse_sort
from masthead.engine.records.safe_addresses import safe_link, safe_picture
from masthead.engine.records.search.terms import read_query, words_of
from masthead.engine.records.write.slugs import slugify
from masthead.faces.importers.convert.content import prepare, rewrite
from masthead.faces.importers.convert.image_urls import find_pictures
from masthead.faces.importers.platforms.ghost import card_html
from masthead.faces.importers.platforms.ghost.markdown import render_markdown
from masthead.faces.importers.platforms.substack import markup as substack
from masthead.faces.importers.platforms.wordpress import paragraphs
from masthead.faces.importers.platforms.wordpress.blocks import segments
from masthead.faces.importers.source import SourcePost
from masthead.faces.reader.card_views import Frames
from masthead.faces.reader.content import _FeedWriter, _PageWriter
from masthead.features.comments.text import clean_text, count_links
from masthead.features.posts.site import before_paywall, lists_show, without_paywall
from masthead.identity.hosts import parse_host
from masthead.web.bodies import decode_json_object
from masthead.web.forms import decode_form
from masthead.web.query_string import parse_query_string

Read = Callable[[str], Any]


def _prepared(html: str) -> object:
    values = {"source_id": "1", "kind": "post", "title": "x", "html": html}
    fields = SourcePost.__struct_fields__
    return prepare(SourcePost(**{k: v for k, v in values.items() if k in fields}), "https://a.test")


def _page(html: str) -> None:
    tokens = tokens_of(html)
    _PageWriter(tokens, {}, Frames(), starts_page=True).run()
    _FeedWriter(tokens, "https://a.test", "https://a.test/posts/a").run()


HTML_READERS: dict[str, Read] = {
    "presanitized": presanitized,
    "flattened": flattened,
    "without tags": without_tags,
    "effort": effort_of,
    "clean": cleaned_text,
    "clean or plain": cleaned_or_plain_text,
    "page and feed": _page,
    "blocks": blocks_of,
    "difference": lambda html: difference(html, f"<p>new</p>{html}<p>new</p>"),
    "paywall": lambda html: (before_paywall(html), without_paywall(html)),
    "lists": lambda html: lists_show({"content_html": html, "visibility": "members"}),
    "plain text": lambda html: plain_text(html, 10_000_000),
    "search words": words_of,
    "alternative texts": lambda html: alts_in({"content_html": html}),
    "import": _prepared,
    "rewrite": lambda html: rewrite(html, None, {"a": "b"}),
    "WordPress paragraphs": paragraphs.paragraphs,
    "WordPress links": paragraphs.linked_addresses,
    "WordPress blocks": lambda html: list(segments(html, [])),
    "Ghost cards": card_html.simplified,
    "Substack": substack.cleaned,
}
OTHER_READERS: dict[str, Read] = {
    "words compared": lambda text: compare_words(text, f"new {text} new"),
    "Markdown": convert,
    "Markdown of Ghost": render_markdown,
    "filter": parse,
    "sort": parse_sort,
    "fields": Projection.parse,
    "search": read_query,
    "slug": slugify,
    "email": lambda text: is_email(normal_email(text)),
    "link": safe_link,
    "picture": safe_picture,
    "srcset": safe_srcset,
    "background": background_of,
    "pictures": lambda text: find_pictures(text.split(","), "https://a.test"),
    "comment": lambda text: (clean_text(text), count_links(text)),
    "host": parse_host,
    "form": lambda text: decode_form(text.encode()),
    "query": lambda text: parse_query_string(text.encode(), "utf-8"),
    "JSON": lambda text: decode_json_object(b'{"a":' + text.encode()),
    "JSON text": lambda text: decode_json_object(b'{"a":"' + text.encode() + b'"}'),
}

# fmt: off
MARKUP = (
    "<", ">", "&", "<p>", "</p>", "<b id={}>", "<p><b id={}>", "<b><p>", "<i><b></i>", "<rt>",
    "<ruby><rt>", "<li>", "<ul><li>", "<td>", "<table><tr><td>", "<div>", "<span><div></span>",
    "<a href=x{}>", "<a href='", '<img src="', "<img src=a.png srcset='a 1x, b 2x'>", "<img ",
    "<img src=/media/aaaaaaaaaaaaaaa/x ",
    "<hr ", "<hr class=paywall ", "<!--", "<!--more", "<!-- x -->", "<!--more-->", "<![CDATA[",
    "<?x ", "</", "<svg>", "<script>", "</script>", "<style>", "<noscript>", "<iframe ",
    "<iframe src=//a>", "<p a{}=1>", " a{}=1", "<p style='background:url(", "&amp;", "&#x", "&lt",
    "\xa0", "\n", "\n\n", "<br>\n", "<pre>", "[gallery]", "[caption]", "[", "http://a.b ",
    "<p>http://a.b</p>", "<!-- wp:a -->", "<!-- wp:a {", "<div class='kg-card'>",
    "<div class='footnote'>", "word ", "漢",
)
PLAIN = (
    "a", " ", "\t", "\n", "\n\n", "a b ", "1.", "- ", "> ", "# ", "*", "**a", "_", "`", "```\n",
    "[", "]", "[a](", "![", "[^1]", "[^{}]: x\n", "<", "<a ", "|", "| a |\n|---|\n", "~~", "\\",
    "'", '"', "(", ")", "a=1 && ", "a='", "-a,", "a.b,", "a:excerpt(", "&", "a=b&", "%", "%41",
    "+", ";", ",", "a 1x,", "a (", "[,", "[[", '{"a":', '"a",', "\\u0000", "@", "a@", ".", "a.",
    "-", "xn--", ":", "/", "//", "?", "#", "http://", "http://a.b/c-1x1.png,", "data:",
    "java\tscript:", "漢", "ß", "\u0301", "\ud7ff",
)
# fmt: on


def _fill(piece: str) -> Callable[[int], str]:
    def fill(size: int) -> str:
        return "".join(piece.replace("{}", str(n)) for n in range(1 + size // len(piece)))

    return fill


def _bounded(read: Read) -> Read:
    def run(text: str) -> None:
        with suppress(MastheadError, TooCostly):
            read(text)

    return run


@pytest.mark.parametrize("name", HTML_READERS)
def test_readers_of_html(name: str) -> None:
    _check(HTML_READERS[name], _some(name, MARKUP))


@pytest.mark.parametrize("name", OTHER_READERS)
def test_readers_of_other_texts(name: str) -> None:
    _check(OTHER_READERS[name], _some(name, PLAIN))


@pytest.mark.sweep
@pytest.mark.parametrize("name", HTML_READERS)
def test_readers_of_html_of_every_kind(name: str) -> None:
    _check(HTML_READERS[name], (*MARKUP, *_mixed(MARKUP, 60)))


@pytest.mark.sweep
@pytest.mark.parametrize("name", OTHER_READERS)
def test_readers_of_other_texts_of_every_kind(name: str) -> None:
    _check(OTHER_READERS[name], (*PLAIN, *_mixed(PLAIN, 60)))


def _some(name: str, pieces: Sequence[str]) -> Sequence[str]:
    """Some of the pieces, always the same for a reader, and a random mixture."""
    return [*random.Random(name).sample(pieces, 4), *_mixed(pieces, 1)]


def _mixed(pieces: Sequence[str], number: int) -> Sequence[str]:
    return ["".join(random.choices(pieces, k=3)) for _ in range(number)]


def _check(read: Read, pieces: Sequence[str]) -> None:
    # A failure names the pieces.
    found = {piece: growth(_bounded(read), _fill(piece)) for piece in pieces}
    assert not {piece: round(times, 1) for piece, times in found.items() if times >= MOST}
