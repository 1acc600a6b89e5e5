"""A tenant's posts and pages as static HTML files in a zip, with an `index.html`.

A page loads nothing from the network except files of other sites that its author embedded.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, BinaryIO
from urllib.parse import urljoin

import msgspec
import nh3
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from masthead.base import clock
from masthead.base.languages.formats import listed
from masthead.content.html.foreign_html import presanitized
from masthead.content.html.srcset import safe_srcset
from masthead.content.texts.publication import PUBLISHED
from masthead.engine.records.collection import Record
from masthead.engine.records.safe_addresses import LINK_SCHEMES, safe_link, safe_picture
from masthead.faces.site_export.archive import Archive, file_stem, in_thread, is_plain
from masthead.faces.site_export.content import Blog, Content
from masthead.faces.site_export.media_links import MediaLink
from masthead.web.template_source import Unindented

_HERE = Path(__file__).parent / "templates"
_STYLE = "style.css"

_environment = Environment(
    loader=FileSystemLoader(_HERE),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    extensions=[Unindented],
)

_TAGS = nh3.ALLOWED_TAGS | {"audio", "video", "source", "picture", "section"}
_ATTRIBUTES = {
    **nh3.ALLOWED_ATTRIBUTES,
    "*": {"id", "dir", "lang", "title"},
    "img": {"src", "srcset", "sizes", "alt", "width", "height"},
    "source": {"src", "srcset", "sizes", "type", "media"},
    "audio": {"src", "controls"},
    "video": {"src", "controls", "poster", "width", "height"},
}
_SCHEMES = {*LINK_SCHEMES, "data"}
_ROOTED = re.compile(r"(?<![^\s,])/(?!/)")


class _Line(msgspec.Struct):
    """A post or page in the table of contents."""

    kind: str
    path: str
    title: str
    date: str
    note: str


async def write_static_pages(content: Content, file: BinaryIO) -> None:
    blog = content.blog
    with Archive(file, clock.from_text(blog.now)) as archive, TemporaryFile() as lines:
        archive.add(_STYLE, (_HERE / _STYLE).read_bytes())
        for kind, texts in (("posts", content.posts()), ("pages", content.pages())):
            async for page in texts:
                known = await content.media_in(page)
                await in_thread(_write_pages, archive, lines, content, kind, page=page, known=known)
        with archive.entry("index.html") as entry:
            await in_thread(_write_index, entry, blog, lines)
        async for found in content.media():
            for item in found:
                stored = await content.file_of(item)
                if stored is not None:
                    await archive.add_stored(_media_path(item), stored.chunks)


def _write_pages(
    archive: Archive,
    lines: IO[bytes],
    content: Content,
    kind: str,
    *,
    page: list[Record],
    known: Mapping[str, Record],
) -> None:
    for each in page:
        line = _line(kind, each, content.blog)
        archive.add(line.path, _page(content, each, line, known))
        lines.write(msgspec.json.encode(line) + b"\n")


def _write_index(entry: IO[bytes], blog: Blog, lines: IO[bytes]) -> None:
    for piece in _index(blog, lines):
        entry.write(piece.encode())


def _line(kind: str, record: Record, blog: Blog) -> _Line:
    path = f"{kind}/{file_stem(record['slug'], record['id'])}.html"
    return _Line(kind, path, record["title"], record["published_at"][:10], _note(record, blog))


def _note(record: Record, blog: Blog) -> str:
    """Why a visitor of the site would not see the text."""
    if record["status"] != PUBLISHED:
        return "draft"
    if record["published_at"] > blog.now:
        return "scheduled"
    if record["email_only"]:
        return "only by email"
    if record["tiers"]:
        return f"for members with {listed(record['tiers'], 'or')}"
    return {"members": "for members", "paid": "for paid members"}.get(record["visibility"], "")


def _page(content: Content, record: Record, line: _Line, known: Mapping[str, Record]) -> bytes:
    addresses = _Addresses(content, known)
    page = _environment.get_template("page.html").render(
        blog=content.blog,
        line=line,
        post=record,
        picture=addresses.changed("src", record["featured_image"]),
        body=Markup(addresses.cleaned(record["content_html"])),  # noqa: S704
    )
    return page.encode()


def _index(blog: Blog, lines: IO[bytes]) -> Iterator[str]:
    """Streamed, because it may have a hundred thousand lines."""
    lines.seek(0)
    read = (msgspec.json.decode(line, type=_Line) for line in lines)
    groups = itertools.groupby(read, key=lambda line: line.kind)
    stream = _environment.get_template("index.html").stream(blog=blog, groups=groups)
    stream.enable_buffering(500)
    yield from stream


class _Addresses:
    """Rewrites addresses for a file that is one folder deep in the unpacked archive."""

    def __init__(self, content: Content, known: Mapping[str, Record]) -> None:
        self._url = content.blog.url
        self._links = content.links
        self._known = known
        self._own_text = re.compile(
            rf"(?:{re.escape(self._url)})?(?:/[a-z]{{2,3}}(?:-[a-z0-9]+)*)?/(?P<kind>posts|pages)/(?P<slug>[^/?#]+)/?(?P<rest>#.*)?"
        )

    def cleaned(self, html: str) -> str:
        return nh3.clean(
            presanitized(html),
            tags=_TAGS,
            attributes=_ATTRIBUTES,
            attribute_filter=lambda _tag, name, value: self.changed(name, value),
            url_schemes=_SCHEMES,
        )

    def changed(self, attribute: str, value: str) -> str | None:
        """None removes the attribute."""
        safe = _SAFE.get(attribute)
        if safe is None:
            return value
        value = safe(value)
        if not value:
            return None
        value = self._links.replace(value, self._known, _relative_path)
        if attribute in _FOLLOWED:
            return self._link(value)
        return _ROOTED.sub(f"{self._url}/", value)

    def _link(self, value: str) -> str:
        own = self._own_text.fullmatch(value)
        if own and is_plain(own["slug"]):
            return f"../{own['kind']}/{own['slug']}.html{own['rest'] or ''}"
        return urljoin(self._url, value) if value.startswith("/") else value


_FOLLOWED = frozenset({"href", "cite"})
_SAFE = {
    **dict.fromkeys(_FOLLOWED, safe_link),
    **dict.fromkeys(("src", "poster"), safe_picture),
    "srcset": safe_srcset,
}


def _relative_path(_link: MediaLink, item: Record) -> str:
    return f"../{_media_path(item)}"


def _media_path(item: Record) -> str:
    """Ids and stored names are safe in a path."""
    return f"media/{item['id']}/{item['file']}"
