"""Every word of every post of the corpus comes over, with the blanks around it.

Compared is what a reader sees: the text of the source and the text that is stored, their white
space collapsed as browsers do it, block elements parting words. What is meant to differ is listed
here, and nothing else may: shortcodes, widgets that only ask for something, and players, which
become links. Where what stands in their place is not the source's own text, there is a hole
in what is expected (any words may stand there, but the words around it must be there).
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterator
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

import pytest
from lxml import etree

from masthead.importers.html.content import prepare
from masthead.importers.opening import open_export
from masthead.importers.source import BadFile, Options, SourcePost
from masthead.importers.wordpress.items import Channel, read_items

CORPUS: Final = Path(__file__).parents[4] / "shared" / "corpus"
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="needs the corpus of exports")

EVERYTHING: Final = Options(include_pages=True, include_products=True)
CONTENT: Final = "{http://purl.org/rss/1.0/modules/content/}encoded"
HOLE: Final = "\ue000"

# fmt: off
BLOCKS: Final = frozenset({
    "address", "article", "aside", "blockquote", "br", "caption", "center", "col", "colgroup", "dd",
    "details", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2",
    "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section",
    "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
})
VOID: Final = frozenset({"br", "col", "embed", "hr", "img", "input", "source", "track", "wbr"})
UNREAD: Final = frozenset({
    "script", "style", "svg", "title", "select", "textarea", "template", "button",
})
# Of Substack: what asks readers for something, and leads nowhere after the move.
ASKING: Final = frozenset({
    "button-wrapper", "captioned-button-wrap", "subscription-widget-wrap",
    "subscription-widget-wrap-editor", "subscription-widget", "subscribe-widget", "paywall-jump",
})
# Filled in by Substack's own scripts, or a card of Ghost for a link or a file: a link stands there.
FILLED: Final = frozenset({
    "youtube-wrap", "vimeo-wrap", "latex-rendered", "tweet", "spotify-wrap",
    "kg-bookmark-card", "kg-file-card",
})
# fmt: on
DAMAGED: Final = frozenset({"wrong-encoding-latin1-as-utf8.xml", "lone-surrogate.json"})
"""Their characters are read as something else than they are written, as other tests say."""

SHORTCODES: Final = (
    (r'\[caption[^\]]*? caption="([^"]*)"\]', r"\1 "),
    (r"\[/?(?:caption|embed)[^\]]*\]", " "),
    (r'\[(?:audio|video)[^\]]*?(https?://[^\s"\]]+)[^\]]*\](?:\[/(?:audio|video)\])?', r" \1 "),
    (r"\[\[gallery\]\]", "[escaped]"),
    (r"\[gallery[^\]]*\]", f" {HOLE} "),
    (r"\[escaped\]", "[gallery]"),
    (r"(?s)\[sourcecode[^\]]*\].*?\[/sourcecode\]", f" {HOLE} "),
)


class _Shown(HTMLParser):
    """The text of HTML, by another parser than the importers have."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._hidden_depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._hidden_depth:
            self._hidden_depth += tag not in VOID
            return
        classes = set((dict(attrs).get("class") or "").split())
        if tag in BLOCKS:
            self.pieces.append(" ")
        if tag in ("iframe", "embed") or classes & FILLED:
            self.pieces.append(f" {HOLE} ")
        if (tag in UNREAD or tag == "iframe" or classes & (FILLED | ASKING)) and tag not in VOID:
            self._hidden_depth = 1

    def handle_endtag(self, tag: str) -> None:
        if self._hidden_depth:
            self._hidden_depth -= tag not in VOID
        if tag in BLOCKS and not self._hidden_depth:
            self.pieces.append(" ")

    def handle_data(self, data: str) -> None:
        if not self._hidden_depth:
            self.pieces.append(data)


def shown(html: str) -> str:
    reader = _Shown()
    reader.feed(html)
    reader.close()
    text = re.sub(r"[ \t\n\r\f]+", " ", "".join(reader.pieces))
    # A paragraph of nothing but a no-break space is how old editors write an empty line.
    return re.sub(r"(?:(?<= )|^)\xa0 ", "", text).strip()


def expected(html: str) -> re.Pattern[str]:
    words = [re.escape(each) for each in re.split(f" ?{HOLE} ?", shown(html))]
    return re.compile(r"(?: ?.*? ?)".join(words), re.DOTALL)


def wordpress_bodies(path: Path) -> list[str]:
    parser = etree.XMLParser(huge_tree=True, resolve_entities=False)
    try:
        items = etree.parse(path, parser).iter("item")
        bodies = [item.findtext(CONTENT) or "" for item in items]
    except etree.XMLSyntaxError:
        # What WordPress writes need not be XML. Then the importer's own reader has to be believed.
        with path.open("rb") as stream:
            found = read_items(stream, Channel(), meta=frozenset(), with_content=True)
            bodies = [item.fields.get("content", "") for item in found]
    return [_without_shortcodes(body) for body in bodies]


def _without_shortcodes(body: str) -> str:
    for pattern, shown_as in SHORTCODES:
        body = re.sub(pattern, shown_as, body)
    return body


def substack_bodies(path: Path) -> dict[str, str]:
    """By the number of the post."""
    texts: dict[str, str] = {}
    for name, content in _files(path):
        if name.endswith(".html"):
            texts[name.rpartition("/")[2].partition(".")[0]] = content.decode()
    (table,) = (content for name, content in _files(path) if name.endswith("posts.csv"))
    rows = csv.DictReader(io.StringIO(table.decode("utf-8-sig")))
    numbers = {row["post_id"].partition(".")[0] for row in rows}
    return {number: text for number, text in texts.items() if number in numbers}


def _files(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.is_dir():
        yield from ((str(each), each.read_bytes()) for each in path.rglob("*") if each.is_file())
        return
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if "__MACOSX" not in name]
        yield from ((name, archive.read(name)) for name in names)


def ghost_bodies(path: Path) -> list[str | None]:
    """None where Ghost has made no HTML: then there is no text of the source to compare with."""
    found = json.loads(path.read_bytes().decode("utf-8-sig"))
    found = found["db"][0] if "db" in found else found
    return [row.get("html") or None for row in found["data"]["posts"]]


def imported_texts(platform: str, path: Path) -> list[SourcePost | None]:
    """As they would be stored, in the order of the export; None for what is left out."""
    with closing(open_export(platform, path, EVERYTHING)) as source:
        return [each if isinstance(each, SourcePost) else None for each in source.posts()]


def check(post: SourcePost, body: str) -> None:
    text = shown(prepare(post, "").html)
    assert expected(body).fullmatch(text), f"{post.title}: {shown(body)!r} became {text!r}"


def of_kind(platform: str, *patterns: str) -> list[Any]:
    top = CORPUS / platform
    every = (path for pattern in patterns for path in sorted(top.rglob(pattern)))
    found = (path for path in every if path.name not in DAMAGED)
    return [pytest.param(path, id=str(path.relative_to(top))) for path in found]


def opened(platform: str, path: Path) -> list[SourcePost | None]:
    try:
        return imported_texts(platform, path)
    except BadFile:
        pytest.skip("is refused")


@pytest.mark.parametrize("path", of_kind("wordpress", "*.xml"))
def test_every_word_of_a_wordpress_post(path: Path) -> None:
    posts = opened("wordpress", path)
    bodies = wordpress_bodies(path)
    for post, body in zip(posts, bodies, strict=True):
        if post is not None:
            check(post, body)


@pytest.mark.parametrize("path", of_kind("substack", "export-*", "mg-export"))
def test_every_word_of_a_substack_post(path: Path) -> None:
    bodies = substack_bodies(path)
    for post in opened("substack", path):
        if post is not None and post.source_id in bodies:
            check(post, bodies[post.source_id])


@pytest.mark.parametrize("path", of_kind("ghost", "*.json"))
def test_every_word_of_a_ghost_post(path: Path) -> None:
    posts = opened("ghost", path)
    try:
        bodies = ghost_bodies(path)
    except (ValueError, KeyError, TypeError, AttributeError):
        pytest.skip("is no plain table of posts")
    for post, body in zip(posts, bodies, strict=True):
        if post is not None and body is not None:
            check(post, body)
