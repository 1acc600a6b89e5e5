"""Files that are made to hold an importer up: each is many megabytes of one trick, unless the
trick itself is small."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from tests.faces.importers.platforms.wordpress.wxr import HEAD, TAIL

SIZE: Final = 12_000_000
_HEAD: Final = HEAD.format(version="1.2").encode()
_TAIL: Final = TAIL.encode()
_POST: Final = b"<item><title>a</title><wp:post_id>7</wp:post_id><wp:status>publish</wp:status>"

Pieces = Iterator[bytes]
Make = Callable[[], Pieces]


def repeated(piece: bytes, size: int = SIZE) -> Pieces:
    block = piece * max(1, 1_000_000 // len(piece))
    for _ in range(max(1, size // len(block))):
        yield block


def numbered(form: str, size: int = SIZE) -> Pieces:
    """Each with another number in it, which is what sets and dictionaries grow by."""
    start, written = 0, 0
    while written < size:
        block = "".join(form.replace("#", str(n)) for n in range(start, start + 10_000)).encode()
        start, written = start + 10_000, written + len(block)
        yield block


def around(before: bytes, pieces: Pieces, after: bytes) -> Pieces:
    yield before
    yield from pieces
    yield after


def _wxr(pieces: Pieces, before: bytes = b"", after: bytes = b"") -> Pieces:
    return around(_HEAD + before, pieces, after + _TAIL)


def _in_item(pieces: Pieces, before: bytes = b"", after: bytes = b"") -> Pieces:
    return _wxr(pieces, _POST + before, after + b"</item>")


def _ghost(pieces: Pieces, before: str = "", after: str = "") -> Pieces:
    return around(b'{"db": [{"data": {' + before.encode(), pieces, after.encode() + b"}}]}")


def _rows(table: str, pieces: Pieces, others: str = '"posts": [{"id": 1}],') -> Pieces:
    return _ghost(pieces, f'{others}"{table}": [', "0]")


def _attributes(number: int) -> bytes:
    return b"<a " + b" ".join(b'a%d="x"' % each for each in range(number)) + b"/>"


def _post_table(rows: Pieces) -> Pieces:
    return around(b"post_id,title,type,is_published\n", rows, b"")


WORDPRESS: Final[dict[str, Make]] = {
    "tiny items": lambda: _wxr(
        numbered(
            "<item><title>a</title><wp:post_id>#</wp:post_id><wp:status>publish</wp:status>"
            "<wp:post_type>post</wp:post_type></item>"
        )
    ),
    "empty items": lambda: _wxr(repeated(b"<item/>")),
    "tiny elements": lambda: _in_item(repeated(b"<a/>")),
    "tiny elements in the channel": lambda: _wxr(repeated(b"<a/>")),
    "many kinds of elements": lambda: _in_item(numbered("<a#/>")),
    "many namespaces": lambda: _in_item(numbered('<a# xmlns="urn:#"/>')),
    "many attributes": lambda: _in_item(repeated(_attributes(5_000))),
    "some attributes": lambda: _in_item(repeated(_attributes(60))),
    "one long attribute": lambda: _in_item(repeated(b"x > "), b'<a b="', b'"/>'),
    "one long tag": lambda: _in_item(repeated(b"x"), b"<a", b"/>"),
    "one long comment": lambda: _in_item(repeated(b"x > "), b"<!--", b"-->"),
    "one long instruction": lambda: _in_item(repeated(b"x > "), b"<?a ", b"?>"),
    "many comments": lambda: _in_item(repeated(b"<!---->")),
    "deep nesting": lambda: _in_item(repeated(b"<a>")),
    "many categories": lambda: _in_item(
        numbered('<category domain="post_tag"><![CDATA[t#]]></category>')
    ),
    "many authors": lambda: _wxr(
        numbered("<wp:author><wp:author_login>a#</wp:author_login></wp:author>", 20_000_000)
    ),
    "many rows of meta": lambda: _in_item(
        numbered(
            "<wp:postmeta><wp:meta_key>k#</wp:meta_key><wp:meta_value>v</wp:meta_value>"
            "</wp:postmeta>"
        )
    ),
    "many tiny rows of meta": lambda: _in_item(
        repeated(b"<postmeta><meta_key>k</meta_key></postmeta>")
    ),
    "one huge text": lambda: _in_item(
        repeated(b"text "), b"<content:encoded><![CDATA[", b"]]></content:encoded>"
    ),
    "one huge title": lambda: _in_item(repeated(b"text "), b"<title>", b"</title>"),
    "many tiny texts": lambda: _in_item(repeated(b"<![CDATA[]]>"), b"<title>", b"</title>"),
    "references": lambda: _in_item(repeated(b"&lt;"), b"<title>", b"</title>"),
    "numeric references": lambda: _in_item(repeated(b"&#65;"), b"<title>", b"</title>"),
    "impossible references": lambda: _in_item(repeated(b"&#2;"), b"<title>", b"</title>"),
    "bare ampersands": lambda: _in_item(repeated(b"&"), b"<title>", b"</title>"),
    "ends of texts": lambda: _in_item(repeated(b"]]>"), b"<title>", b"</title>"),
    "letters of two encodings": lambda: _in_item(repeated(b"\xff"), b"<title>", b"</title>"),
    "entities": lambda: around(
        b'<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "aaaaaaaaaa">'
        + b"".join(b'<!ENTITY b%d "&b%d;&b%d;">' % (n, n - 1, n - 1) for n in range(1, 40))
        + b"]>",
        repeated(b"&b39;", 1_000_000),
        b"",
    ),
    "blanks": lambda: _wxr(repeated(b" ")),
    "no export": lambda: repeated(b"<x>"),
}

# Of bodies that are just short enough: these posts are imported, and cost their share of time.
BODIES: Final = {
    "open tags": "<b>",
    "half tags": "<b ",
    "entities": "&amp;",
    "bare ampersands": "a&",
    "shortcodes": "[gallery]",
    "open shortcodes": "[caption]",
    "block comments": "<!-- wp:group -->",
    "open comments": "<!--",
    "line ends": "a\n\n",
    "quotes": "<a b='",
    "lists": "<ul><li>",
    "tables": "<table><tr><td>",
    "pictures": '<img src="a.png" srcset="a.png 1x, b.png 2x">',
    "addresses": "\nhttps://video.example/watch\n",
}


def _body(text: str) -> Pieces:
    return _in_item(
        repeated(text.encode(), 5_000_000), b"<content:encoded><![CDATA[", b"]]></content:encoded>"
    )


WORDPRESS.update({f"a body of {name}": partial(_body, text) for name, text in BODIES.items()})

GHOST: Final[dict[str, Make]] = {
    "tiny posts": lambda: _ghost(repeated(b"{},"), '"posts": [', "{}]"),
    "small posts": lambda: _ghost(
        numbered('{"id": #, "title": "a", "status": "draft"},'), '"posts": [', "{}]"
    ),
    "tag links": lambda: _rows("posts_tags", numbered('{"post_id": 1, "tag_id": #},')),
    "tag links before the posts": lambda: _rows(
        "posts_tags", numbered('{"post_id": #, "tag_id": #},'), others=""
    ),
    "tag links of many posts": lambda: _rows(
        "posts_tags", numbered('{"post_id": "post-number-#", "tag_id": "tag-number-#"},')
    ),
    "many tags": lambda: _rows("tags", numbered('{"id": #, "name": "tag #"},')),
    "rows of meta": lambda: _rows("posts_meta", numbered('{"post_id": #, "meta_title": "a"},')),
    "readers": lambda: _rows("members_newsletters", numbered('{"member_id": #},')),
    "tiny members": lambda: _rows("members", numbered('{"email": "a#@b.example"},')),
    "tiny rows": lambda: _rows("settings", repeated(b"0,")),
    "many keys": lambda: _ghost(numbered('"k#": 0,'), '"posts": [{', '"z": 0}]'),
    "many tables": lambda: _ghost(numbered('"k#": 0,'), '"posts": [],', '"z": 0'),
    "the same key": lambda: _ghost(repeated(b'"posts": [{}],'), "", '"posts": []'),
    "deep lists": lambda: _rows("posts", repeated(b"["), others=""),
    "deep objects": lambda: _rows("posts", repeated(b'{"a":'), others=""),
    "deep outside": lambda: around(b"", repeated(b'{"data":'), b""),
    "deep beside": lambda: around(b'{"x":', repeated(b"["), b""),
    "a long number": lambda: _rows("posts", repeated(b"9"), others=""),
    "many numbers": lambda: _rows("posts", repeated(b"9" * 4_000 + b","), others=""),
    "one long text": lambda: _rows(
        "posts", around(b'{"html": "', repeated(b"x", 30_000_000), b'"},'), others=""
    ),
    "a text without an end": lambda: _rows("posts", around(b'"', repeated(b"x"), b""), others=""),
    "escapes": lambda: _rows("posts", repeated(b'{"html": "' + b"\\u0041" * 100_000 + b'"},')),
    "crowded rows": lambda: _rows("posts", repeated(b"[" + b"[]," * 500_000 + b"0],")),
    "blanks": lambda: _rows("posts", repeated(b" ")),
    "no export": lambda: repeated(b"[1],"),
}

SUBSTACK: Final[dict[str, Make]] = {
    "a million columns": lambda: around(b"email", repeated(b",a", 2_000_000), b"\na@b.example\n"),
    "no line end": lambda: around(b"email,", repeated(b"x"), b""),
    "no line end after the names": lambda: around(b"email\n", repeated(b"x"), b""),
    "a quote without an end": lambda: around(b'email\n"', repeated(b"x\n"), b""),
    "blank lines": lambda: around(b"email\n", repeated(b"\n"), b""),
    "tiny rows": lambda: around(b"email\n", repeated(b"a\n"), b""),
    "one member again and again": lambda: around(b"email\n", repeated(b"a@b.co\n"), b""),
    "tiny members": lambda: around(b"email\n", numbered("#@b.co\n", 30_000_000), b""),
    "many cells": lambda: around(b"email\n", repeated(b"," * 900_000 + b"\n"), b""),
    "many quotes": lambda: around(b"email\n", repeated(b'""""""""""\n'), b""),
    "tiny posts": lambda: _post_table(numbered("#,a\n")),
    "small posts": lambda: _post_table(numbered("#.slug,A title,newsletter,true\n")),
    "letters of two encodings": lambda: around(
        b"email\n", repeated(b"\xff\xfe\xff" * 20 + b"\n"), b""
    ),
}

PACKED: Final[dict[str, Callable[[], bytes]]] = {
    "wordpress/a gz bomb": lambda: gzip.compress(b"".join(_wxr(repeated(b" ", 60_000_000)))),
    "wordpress/a gz in a gz": lambda: gzip.compress(gzip.compress(b"".join(_wxr(repeated(b" "))))),
    "wordpress/a zip bomb": lambda: zipped({"a.xml": b"".join(_wxr(repeated(b" ", 60_000_000)))}),
    "wordpress/a cut gz": lambda: gzip.compress(b"".join(WORDPRESS["tiny items"]()))[:-100],
    "ghost/a gz bomb": lambda: gzip.compress(b"".join(_rows("posts", repeated(b" ", 60_000_000)))),
    "ghost/a zip bomb": lambda: zipped({"a.json": bytes(60_000_000)}),
    "ghost/many exports": lambda: zipped(
        {f"{n}.json": b'{"data": {"posts": []}}' for n in range(30_000)}
    ),
    "ghost/many lists": lambda: zipped({f"{n}.csv": b"email\n" for n in range(30_000)}),
    "substack/many texts": lambda: zipped(
        {"posts.csv": b"post_id,title\n"} | {f"posts/{n}.html": b"x" for n in range(30_000)}
    ),
    "substack/many lists": lambda: zipped({f"{n}.csv": b"email\n" for n in range(30_000)}),
    "substack/too many files": lambda: zipped({f"{n}.html": b"" for n in range(60_000)}),
}


def zipped(entries: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return out.getvalue()


def write(path: Path, pieces: Pieces) -> Path:
    with path.open("wb") as file:
        file.writelines(pieces)
    return path


def everything() -> list[str]:
    plain = {"wordpress": WORDPRESS, "ghost": GHOST, "substack": SUBSTACK}
    return [f"{platform}/{name}" for platform, made in plain.items() for name in made] + [*PACKED]


def make(which: str, folder: Path) -> Path:
    """Writes the one of that name, such as `ghost/tiny posts`."""
    platform, _, name = which.partition("/")
    if which in PACKED:
        path = folder / ("export.gz" if "gz" in name else "export.zip")
        path.write_bytes(PACKED[which]())
        return path
    made = {"wordpress": WORDPRESS, "ghost": GHOST, "substack": SUBSTACK}[platform][name]
    ending = {"wordpress": "xml", "ghost": "json", "substack": "csv"}[platform]
    return write(folder / f"export.{ending}", made())
