"""Streams the items of an export, without a tree of the XML, so that memory stays flat.

The parser (libxml2) may not load or resolve anything. Its own limits are replaced by those of
depth, attributes, names and text size in this module.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import BinaryIO, Final, NamedTuple

import msgspec
from lxml import etree

from masthead.base.languages.words import staff_words
from masthead.faces.importers.files.densities import ELEMENTS, ITEMS, TEXTS
from masthead.faces.importers.platforms.wordpress.clean_xml import NOT_WXR, CleanXml
from masthead.faces.importers.source import BadFile

MAX_CONTENT: Final = 6_000_000
"""Characters; more than a post may have, because inline images may still be removed."""
_MAX_FIELD: Final = 100_000
_MAX_DEPTH: Final = 64
_MAX_ATTRIBUTES: Final = 64
# libxml2 holds every name in memory as long as the thread lives.
_MAX_NAMES: Final = 2_000
# Of a post: more categories than the first are left out, more parts than the second are an error.
_MAX_CATEGORIES: Final = 1_000
_MAX_PARTS: Final = 10_000
_USUAL_ATTRIBUTES: Final = 4
MAX_ITEMS: Final = 500_000
MAX_AUTHORS_AND_TERMS: Final = 200_000
_MAX_BYTES_WITHOUT_EVENT: Final = 4 * 1024**2


_RSS_FIELDS: Final = frozenset({"title", "link", "guid", "pubDate"})
_WP_FIELDS: Final = frozenset(
    {
        "post_id",
        "post_date",
        "post_date_gmt",
        "post_name",
        "status",
        "post_type",
        "post_password",
        "post_parent",
        "attachment_url",
        "creator",
    }
)
_AUTHOR_FIELDS: Final = frozenset(
    {"author_id", "author_login", "author_email", "author_display_name", "author_description"}
)
_MAX_AUTHOR_FIELD: Final = 500
_MAX_BIO: Final = 4_000
MAX_AUTHORS: Final = 10_000
"""Held in memory; all are counted."""
_TERM_FIELDS: Final = {
    "term_id": "term_id",
    "category_nicename": "slug",
    "tag_slug": "slug",
    "cat_name": "name",
    "tag_name": "name",
    "category_parent": "parent",
    "term_taxonomy": "domain",
    "term_slug": "slug",
    "term_name": "name",
    "term_parent": "parent",
}
_TERM_DOMAINS: Final = {"category": "category", "tag": "post_tag", "term": ""}
"""Taxonomies by element; a `term` says its taxonomy itself."""
_MAX_TERM_FIELD: Final = 200
MAX_TERMS: Final = 50_000
"""Held in memory, for the redirects of their lists."""
_COMMENT_FIELDS: Final = frozenset(
    {
        "comment_id",
        "comment_author",
        "comment_author_email",
        "comment_date",
        "comment_date_gmt",
        "comment_content",
        "comment_approved",
        "comment_type",
        "comment_parent",
    }
)
_OWN_COMMENT_META: Final = frozenset({"_masthead_id", "_masthead_created"})
_MAX_COMMENT_META: Final = 200
# Characters of all comments under one post, and the overhead of a field.
_MAX_COMMENTS: Final = 50_000_000
_EACH_FIELD: Final = 100
_CHANNEL_RSS_FIELDS: Final = frozenset({"title", "link", "description", "generator"})
_CHANNEL_WP_FIELDS: Final = frozenset({"wxr_version", "base_site_url", "base_blog_url"})


class Term(NamedTuple):
    """A category, a tag, or a term of another taxonomy."""

    domain: str
    """The taxonomy."""
    name: str
    slug: str = ""
    """In addresses; '' where the export does not say it."""
    parent: str = ""
    """The slug of the term above it."""
    term_id: str = ""


class Item(msgspec.Struct):
    """The texts of an item; of repeated elements, the first."""

    fields: dict[str, str] = msgspec.field(default_factory=dict)
    categories: list[Term] = msgspec.field(default_factory=list)
    meta: dict[str, str] = msgspec.field(default_factory=dict)
    is_too_long: bool = False
    comment_count: int = 0
    comments: list[dict[str, str]] = msgspec.field(default_factory=list)
    """Their fields by name, if comments are imported."""

    def get(self, name: str) -> str:
        return self.fields.get(name, "").strip()


class Channel(msgspec.Struct):
    fields: dict[str, str] = msgspec.field(default_factory=dict)
    has_mixed_encodings: bool = False
    authors: int = 0
    author_fields: list[dict[str, str]] = msgspec.field(default_factory=list)
    terms: list[Term] = msgspec.field(default_factory=list)


def read_items(
    stream: BinaryIO,
    channel: Channel,
    *,
    meta: frozenset[str],
    with_content: bool,
    with_comments: bool = False,
) -> Iterator[Item]:
    """Fills `channel` meanwhile. Raises `BadFile` for XML that is not well-formed or truncated."""
    xml = CleanXml(stream, without_long_texts=not with_content)
    target = _Target(channel, meta, with_content, with_comments)
    parser = etree.XMLParser(
        target=target,
        encoding="utf-8",
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=True,
    )
    without_event = events = 0
    for piece in xml:
        try:
            parser.feed(piece)
        except etree.XMLSyntaxError as error:
            line = xml.lines_before + (error.lineno or 1)
            raise BadFile(
                staff_words(
                    "The export is damaged: it is not well-formed at line %(line)s.", line=line
                )
            ) from error
        target.check(xml.read)
        # The parser buffers a comment, an instruction or an attribute until its end. It also
        # buffers long texts, which a first pass does not have.
        has_event = events != target.events or with_content
        without_event = 0 if has_event else without_event + len(piece)
        events = target.events
        if without_event > _MAX_BYTES_WITHOUT_EVENT:
            raise BadFile(
                staff_words("The export has a comment or a tag that is longer than any real one.")
            )
        yield from target.take()
    try:
        parser.close()
    except etree.XMLSyntaxError as error:
        raise BadFile(staff_words("The export is truncated: its end is missing.")) from error
    channel.has_mixed_encodings |= xml.has_mixed_encodings


class _Target:
    """Handles the parser's events. Elements are recognized by depth and local name, because
    namespaces differ by version and by plugin."""

    def __init__(
        self, channel: Channel, meta: frozenset[str], with_content: bool, with_comments: bool
    ) -> None:
        self._channel = channel
        self._wanted_meta = meta
        self._with_content = with_content
        self._with_comments = with_comments
        self._in_comment = False
        self._in_comment_meta = False
        self._in_author = False
        self._term: dict[str, str] | None = None
        self._comment_characters_left = 0
        self._items: list[Item] = []
        self._item: Item | None = None
        self._depth = 0
        self._names: dict[str, str] = {}
        self._in_meta = False
        self._meta_key = ""
        self._domain = ""
        self._nicename = ""
        self._key = ""
        self._key_depth = 0
        self._texts: list[str] = []
        self._characters_left = 0
        self._elements = 0
        self._data = 0
        self._counted = 0
        self._in_channel = 0
        self._in_item = 0

    @property
    def events(self) -> int:
        return self._elements + self._data

    def check(self, size: int) -> None:
        """Raises `BadFile` where the parts are too many for the bytes read so far."""
        ELEMENTS.check(self._elements, size)
        TEXTS.check(self._data, size)
        ITEMS.check(self._counted, size)
        if self._counted > MAX_ITEMS:
            raise BadFile(
                staff_words(
                    "The export has more than %(number)s items. Split it into smaller files and "
                    "import one after the other.",
                    number=f"{MAX_ITEMS:,}",
                )
            )
        if self._in_channel - self._counted > MAX_AUTHORS_AND_TERMS:
            raise BadFile(
                staff_words(
                    "The export has more than %(number)s authors and terms. Split it into smaller "
                    "files and import one after the other.",
                    number=f"{MAX_AUTHORS_AND_TERMS:,}",
                )
            )

    def take(self) -> list[Item]:
        items, self._items = self._items, []
        return items

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._depth = depth = self._depth + 1
        self._elements += 1
        name = self._names.get(tag) or self._new_name(tag)
        if attributes:
            self._check_attributes(attributes)
        if depth == 4:
            if self._item is not None:
                self._start_in_item(name, attributes)
            elif self._in_author and name in _AUTHOR_FIELDS:
                self._collect(name, _MAX_BIO if name == "author_description" else _MAX_AUTHOR_FIELD)
            elif self._term is not None and name in _TERM_FIELDS:
                self._collect(name, _MAX_TERM_FIELD)
        elif depth == 5 and self._in_meta:
            if name == "meta_key" or (name == "meta_value" and self._meta_key in self._wanted_meta):
                self._collect(name)
        elif depth == 5 and self._in_comment:
            if name in _COMMENT_FIELDS:
                self._collect(name, min(_MAX_FIELD, self._comment_characters_left))
            elif name == "commentmeta":
                self._in_comment_meta, self._meta_key = True, ""
        elif depth == 6 and self._in_comment_meta:
            if name == "meta_key" or (name == "meta_value" and self._meta_key in _OWN_COMMENT_META):
                self._collect(name, _MAX_COMMENT_META)
        elif depth == 3:
            self._start_in_channel(name)
        elif depth == 1 and name != "rss":
            raise BadFile(NOT_WXR)
        elif depth > _MAX_DEPTH:
            raise BadFile(staff_words("The export is nested deeper than any real one."))

    def data(self, text: str) -> None:
        self._data += 1
        if self._depth != self._key_depth:
            return
        if len(text) > self._characters_left:
            if self._key == "content" and self._item is not None:
                self._item.is_too_long = True
            if not self._characters_left:
                return
            text = text[: self._characters_left]
        self._characters_left -= len(text)
        self._texts.append(text)

    def end(self, tag: str) -> None:
        depth = self._depth
        self._depth = depth - 1
        if depth == self._key_depth:
            self._key_depth = 0
            self._finish(self._key, "".join(self._texts))
        elif depth == 5:
            self._in_comment_meta = False
        elif depth == 4:
            self._in_meta = self._in_comment = False
        elif depth == 3:
            self._in_author = False
            if self._item is not None:
                self._items.append(self._item)
                self._item = None
            elif self._term is not None:
                self._channel.terms.append(Term(**self._term))
                self._term = None

    def close(self) -> None:
        """Nothing is built."""

    def _new_name(self, tag: str) -> str:
        """A short name without a namespace. The elements of RSS have none."""
        if len(self._names) >= _MAX_NAMES:
            raise BadFile(staff_words("The export has more kinds of elements than any real one."))
        namespace, _, local = tag.rpartition("}")
        if local == "encoded":
            name = "excerpt" if "excerpt" in namespace else "content"
        elif namespace and (local in _RSS_FIELDS or local in _CHANNEL_RSS_FIELDS):
            name = "other"
        else:
            name = local
        self._names[tag] = name
        return name

    def _check_attributes(self, attributes: Mapping[str, str]) -> None:
        if len(attributes) > _MAX_ATTRIBUTES:
            raise BadFile(
                staff_words("The export has an element with more attributes than any real one.")
            )
        if len(attributes) > _USUAL_ATTRIBUTES:
            self._elements += len(attributes)
        for name in attributes:
            if name not in self._names:
                self._new_name(name)

    def _start_in_channel(self, name: str) -> None:
        self._in_channel += 1
        if name == "item":
            self._counted += 1
            self._in_item = 0
            self._comment_characters_left = _MAX_COMMENTS
            self._item = Item()
        elif name == "author":
            self._channel.authors += 1
            if self._channel.authors <= MAX_AUTHORS:
                self._in_author = True
                self._channel.author_fields.append({})
        elif name in _TERM_DOMAINS:
            if len(self._channel.terms) < MAX_TERMS:
                self._term = {"domain": _TERM_DOMAINS[name], "name": ""}
        elif name in _CHANNEL_RSS_FIELDS or name in _CHANNEL_WP_FIELDS:
            self._collect(name)

    def _start_in_item(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "postmeta" or name == "category":
            self._in_item += 1
            if self._in_item > _MAX_PARTS:
                raise BadFile(
                    staff_words(
                        "A post of the export has more than %(number)s tags or fields.",
                        number=f"{_MAX_PARTS:,}",
                    )
                )
        if name == "comment":
            self._start_comment()
        elif name == "postmeta":
            self._in_meta = True
            self._meta_key = ""
        elif name == "category":
            self._domain = attributes.get("domain", "")[:100]
            self._nicename = attributes.get("nicename", "")[:_MAX_TERM_FIELD]
            self._collect(name)
        elif name == "content":
            if self._with_content:
                self._collect(name, MAX_CONTENT)
        elif name == "excerpt" or name in _RSS_FIELDS or name in _WP_FIELDS:
            self._collect(name)

    def _start_comment(self) -> None:
        assert self._item is not None
        self._item.comment_count += 1
        if self._with_comments and self._comment_characters_left:
            self._in_comment = True
            self._item.comments.append({})

    def _collect(self, key: str, max_characters: int = _MAX_FIELD) -> None:
        self._key = key
        self._key_depth = self._depth
        self._texts = []
        self._characters_left = max_characters

    def _finish(self, key: str, text: str) -> None:
        item = self._item
        if self._in_author:
            self._channel.author_fields[-1].setdefault(key, text.strip())
        elif self._term is not None:
            self._term[_TERM_FIELDS[key]] = text.strip()
        elif item is None:
            self._channel.fields.setdefault(key, text.strip())
        elif self._in_comment_meta:
            if key == "meta_key":
                self._meta_key = text.strip()
            else:
                item.comments[-1].setdefault(self._meta_key, text.strip())
        elif self._in_comment:
            left = self._comment_characters_left - len(text) - _EACH_FIELD
            self._comment_characters_left = max(0, left)
            item.comments[-1].setdefault(key, text.strip())
        elif key == "meta_key":
            self._meta_key = text.strip()
        elif key == "meta_value":
            item.meta.setdefault(self._meta_key, text.strip())
        elif key == "category":
            if len(item.categories) < _MAX_CATEGORIES:
                item.categories.append(Term(self._domain, text.strip(), self._nicename))
        else:
            item.fields.setdefault(key, text)
