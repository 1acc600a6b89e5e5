"""Every word of every post comes over, with the blanks around it.

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
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from lxml import etree
from tests import corpus
from tests.faces.importers.convert.plain_text import HOLE, has_the_words, shown
from tests.faces.importers.samples.every import SAMPLES
from tests.faces.importers.samples.sample import Sample, as_it_is, cases

from masthead.faces.importers.convert.content import prepare
from masthead.faces.importers.platforms.exports import open_export
from masthead.faces.importers.platforms.wordpress.items import Channel, read_items
from masthead.faces.importers.platforms.wordpress.posts import NO_CONTENT, is_content
from masthead.faces.importers.source import BadFile, Options, SourcePost

EVERYTHING: Final = Options(include_pages=True, include_products=True)
CONTENT: Final = "{http://purl.org/rss/1.0/modules/content/}encoded"
UNLIKE: Final = frozenset(
    {
        *("wrong-encoding-latin1-as-utf8.xml", "lone-surrogate.json", "latin1.json"),
        *("latin-1 that says it is utf-8", "half a letter", "latin-1", "names in capitals"),
        *("the list of posts in its folder", "cells of several lines"),
    }
)
"""Their characters or names are read as something else than they are written, as other tests say,
or they have no texts."""

SHORTCODES: Final = (
    (r'\[caption[^\]]*? caption="([^"]*)"\]', r"\1 "),
    (r"\[/?(?:caption|embed)[^\]]*\]", " "),
    (r'\[(?:audio|video)[^\]]*?(https?://[^\s"\]]+)[^\]]*\](?:\[/(?:audio|video)\])?', r" \1 "),
    (r"\[\[gallery\]\]", "[escaped]"),
    (r"\[gallery[^\]]*\]", f" {HOLE} "),
    (r"\[escaped\]", "[gallery]"),
    (r"(?s)\[sourcecode[^\]]*\].*?\[/sourcecode\]", f" {HOLE} "),
)


def wordpress_bodies(path: Path) -> list[str]:
    parser = etree.XMLParser(huge_tree=True, resolve_entities=False)
    try:
        items = etree.parse(path, parser).iter("item")
        bodies = [
            item.findtext(CONTENT) or "" for item in items if _type_of(item) not in NO_CONTENT
        ]
    except etree.XMLSyntaxError:
        # What WordPress writes need not be XML. Then the importer's own reader has to be believed.
        with path.open("rb") as stream:
            found = read_items(stream, Channel(), meta=frozenset(), with_content=True)
            bodies = [item.fields.get("content", "") for item in found if is_content(item)]
    return [_without_shortcodes(body) for body in bodies]


def _type_of(item: etree._Element) -> str:
    """In whatever version of the format."""
    return next(("".join(each.itertext()).strip() for each in item.iter("{*}post_type")), "")


def _without_shortcodes(body: str) -> str:
    for pattern, shown_as in SHORTCODES:
        body = re.sub(pattern, shown_as, body)
    return body


def substack_bodies(path: Path) -> dict[str, str]:
    """Returns the HTML of each post, by its number."""
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
    if zipfile.is_zipfile(path):
        (content,) = (content for name, content in _files(path) if name.endswith(".json"))
    else:
        content = path.read_bytes()
    found = json.loads(content)
    found = found["db"][0] if "db" in found else found
    rows = (row if isinstance(row, dict) else {} for row in found["data"]["posts"])
    return [row.get("html") or None for row in rows]


def imported_texts(platform: str, path: Path) -> list[SourcePost | None]:
    """As they would be stored, in the order of the export; None for what is left out, and nothing
    at all of what is refused."""
    try:
        with closing(open_export(platform, path, EVERYTHING)) as source:
            return [each if isinstance(each, SourcePost) else None for each in source.posts()]
    except BadFile:
        return []


def check(post: SourcePost, body: str) -> None:
    text = shown(prepare(post, "").html)
    assert has_the_words(text, body), f"{post.title}: {shown(body)!r} became {text!r}"


def exports(platform: str, *patterns: str) -> list[Any]:
    """Ours, and those files of the corpus."""
    ours = [sample for sample in SAMPLES if sample.platform == platform and sample.posts]
    found = [
        Sample(corpus.name_of(path), partial(as_it_is, path))
        for path in corpus.found(*(f"{platform}/**/{pattern}" for pattern in patterns))
    ]
    every = (each for each in [*ours, *found] if each.name.rpartition("/")[2] not in UNLIKE)
    return cases([each for each in every if "members" not in each.name])


@pytest.mark.parametrize("sample", exports("wordpress", "*.xml"))
def test_every_word_of_a_wordpress_post(sample: Sample, tmp_path: Path) -> None:
    path = sample.write(tmp_path)
    posts = imported_texts("wordpress", path)
    bodies = wordpress_bodies(path) if posts else []
    for post, body in zip(posts, bodies, strict=True):
        if post is not None:
            check(post, body)


@pytest.mark.parametrize("sample", exports("substack", "export-*", "mg-export"))
def test_every_word_of_a_substack_post(sample: Sample, tmp_path: Path) -> None:
    path = sample.write(tmp_path)
    bodies = substack_bodies(path)
    for post in imported_texts("substack", path):
        if post is not None and post.source_id in bodies:
            check(post, bodies[post.source_id])


@pytest.mark.parametrize("sample", exports("ghost", "*.json"))
def test_every_word_of_a_ghost_post(sample: Sample, tmp_path: Path) -> None:
    path = sample.write(tmp_path)
    posts = imported_texts("ghost", path)
    bodies = ghost_bodies(path) if posts else []
    for post, body in zip(posts, bodies, strict=True):
        if post is not None and body is not None:
            check(post, body)
