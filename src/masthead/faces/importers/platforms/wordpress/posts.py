"""Converts an item of the export to a post, page or product, or to the reason for skipping it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Final, Literal
from urllib.parse import unquote

import msgspec

from masthead.base.languages.words import staff_marked, staff_words
from masthead.engine.records.fields.languages import language_tag_in
from masthead.engine.records.read.plain_text import plain_text
from masthead.faces.importers.convert.plain_texts import cut, title_text
from masthead.faces.importers.dates import schedule
from masthead.faces.importers.old_paths import old_path
from masthead.faces.importers.platforms.wordpress import masthead_values, seo
from masthead.faces.importers.platforms.wordpress.addresses import (
    MAX_TAG,
    USUAL,
    are_tags,
    other_paths,
    tag_name,
)
from masthead.faces.importers.platforms.wordpress.attachments import Attachments, as_number
from masthead.faces.importers.platforms.wordpress.authors import author_id
from masthead.faces.importers.platforms.wordpress.body import to_html
from masthead.faces.importers.platforms.wordpress.comments import comments_of
from masthead.faces.importers.platforms.wordpress.dates import published_at
from masthead.faces.importers.platforms.wordpress.items import Item, Term
from masthead.faces.importers.source import (
    NOT_SCHEDULED,
    Kind,
    Options,
    Skipped,
    SourceAuthor,
    SourceComment,
    SourcePost,
    post_key,
)

THUMBNAIL: Final = "_thumbnail_id"
PRICES: Final = ("_regular_price", "_price")
META: Final = frozenset({THUMBNAIL, *PRICES, *seo.TITLES, *seo.DESCRIPTIONS, *masthead_values.META})

MAX_TITLE: Final = 255
MAX_EXCERPT: Final = 300
MAX_SEO_TITLE: Final = 60
MAX_SEO_DESCRIPTION: Final = 160
MAX_TAGS: Final = 100
_MAX_SLUG: Final = 255
_MAX_ID: Final = 300

_KINDS: Final[dict[str, Kind]] = {"": "post", "post": "post", "page": "page", "product": "product"}
_STATUSES: Final[dict[str, Literal["draft", "published"]]] = {
    "publish": "published",
    "published": "published",
    "draft": "draft",
}
_OTHER_TYPES: Final = {
    "product_variation": "product variation",
    "shop_order": "order",
    "shop_coupon": "coupon",
}
NO_CONTENT: Final = frozenset(
    {
        *("attachment", "nav_menu_item", "revision", "wp_block", "custom_css"),
        *("customize_changeset", "oembed_cache", "user_request", "wp_template"),
        *("wp_template_part", "wp_global_styles", "wp_navigation"),
        *("wp_font_family", "wp_font_face"),
    }
)
"""Types of items that are parts of posts or of a theme. Pictures and reusable blocks come over with
the posts that show them."""
_SCHEDULED: Final = "future"
_UNPUBLISHED: Final = frozenset({_SCHEDULED, "private", "pending"})
_OTHER_STATUSES: Final = {
    "future": "scheduled",
    "private": "private",
    "pending": "pending review",
    "trash": "trashed",
    "auto-draft": "auto draft",
}
_PRODUCT_DOMAINS: Final = frozenset({"product_cat", "product_tag"})
# Characters that end or split a path, or are not allowed in an address.
_NOT_IN_SLUG: Final = re.compile(r"[\s/?#\\\x00-\x1f\x7f<>\"'`]+")
_PRICE: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,6})?")


class Site(msgspec.Struct):
    """Facts about the whole export, found by a first pass."""

    title: str = ""
    tagline: str = ""
    url: str = ""
    items: int = 0
    comments: int = 0
    authors: int = 0
    authors_by_login: dict[str, SourceAuthor | Skipped] = msgspec.field(default_factory=dict)
    offset: timedelta | None = None
    attachments: Attachments = msgspec.field(default_factory=Attachments)
    reusable: dict[int, str] = msgspec.field(default_factory=dict)
    """Reusable blocks by number."""
    has_mixed_encodings: bool = False
    terms: dict[tuple[str, str], Term] = msgspec.field(default_factory=dict)
    """Categories and tags, by domain and slug."""
    author_numbers: dict[str, str] = msgspec.field(default_factory=dict)
    """Numbers by login."""
    months: set[str] = msgspec.field(default_factory=set)
    """In which posts were published, as `2024/05`: WordPress has a list of each."""
    is_ours: bool = False
    """Exported by us: its addresses are those of this software."""


def is_content(item: Item) -> bool:
    return item.get("post_type").lower() not in NO_CONTENT


class Posts:
    """Converts items one after the other; holds only their ids."""

    def __init__(self, site: Site, options: Options) -> None:
        self._site = site
        self._options = options
        self._times_seen: dict[str, int] = {}
        self._first_warnings = (
            [staff_marked("parts of the file are not UTF-8 and were read as Windows-1252")]
            if site.has_mixed_encodings
            else []
        )

    def comments_of(self, item: Item) -> Iterator[SourceComment | Skipped]:
        """Must be called for all items in order, as `of`, because repeated ids are numbered."""
        kind, source_id, reason = self._classify(item)
        is_post = kind == "post" and not reason
        return comments_of(item.comments, post_key("post", source_id) if is_post else "")

    def _classify(self, item: Item) -> tuple[Kind | None, str, str]:
        """Its kind, its id, and the reason to skip it."""
        post_type = item.get("post_type").lower()
        kind = _KINDS.get(post_type)
        # Skipped items are numbered, too, so that ids do not depend on the options.
        source_id = _own_id(item) if kind is None else self._source_id(item)
        return kind, source_id, self._reason_to_skip(item, post_type, kind)

    def of(self, item: Item) -> SourcePost | Skipped:
        kind, source_id, reason = self._classify(item)
        if kind is None or reason:
            title = cut(title_text(item.get("title"), MAX_TITLE), MAX_TITLE)
            return Skipped(kind or "post", source_id, reason, title)
        return self._post(item, kind, source_id)

    def _reason_to_skip(self, item: Item, post_type: str, kind: Kind | None) -> str:
        if kind is None:
            return _OTHER_TYPES.get(post_type, "other type of content")
        if kind == "page" and not self._options.include_pages:
            return "page"
        if kind == "product" and not self._options.include_products:
            return "product"
        status = item.get("status").lower()
        is_included = status in _UNPUBLISHED and self._options.include_unpublished
        if status not in _STATUSES and not is_included:
            return _OTHER_STATUSES.get(status, "other status")
        if item.get("post_password"):
            return "password protected"
        return "too long" if item.is_too_long else ""

    def _post(self, item: Item, kind: Kind, source_id: str) -> SourcePost:
        site = self._site
        warnings, self._first_warnings = self._first_warnings, []
        html = self._html(item, warnings)
        title = title_text(item.get("title"), MAX_TITLE)
        excerpt = cut(plain_text(item.get("excerpt"), MAX_EXCERPT), MAX_EXCERPT)
        tags = _tags(item, kind, warnings)
        values = {
            "title": title,
            "site": site.title,
            "tagline": site.tagline,
            "separator": "-",
            "excerpt": excerpt,
            "category": tags[0] if tags else "",
        }
        seo_title = seo.first_of(item.meta, seo.TITLES, values)
        seo_description = seo.first_of(item.meta, seo.DESCRIPTIONS, values)
        status = _STATUSES.get(item.get("status").lower(), "draft")
        image, alt = self._featured_image(item, warnings)
        if not title:
            warnings.append(staff_marked("no title"))
        return SourcePost(
            source_id=source_id,
            kind=kind,
            title=_limited(title, MAX_TITLE, staff_marked("Title"), warnings) or "Untitled",
            slug=_slug(item.get("post_name")),
            html=html,
            excerpt=excerpt,
            status=status,
            visibility=masthead_values.visibility(item),
            email_only=kind == "post" and masthead_values.is_email_only(item),
            published_at=self._published_at(item, status, warnings),
            scheduled_for=self._scheduled_for(item, kind, warnings),
            tags=tags,
            featured_image=image,
            featured_image_alt=alt,
            seo_title=_limited(seo_title, MAX_SEO_TITLE, staff_marked("SEO title"), warnings),
            seo_description=_limited(
                seo_description, MAX_SEO_DESCRIPTION, staff_marked("SEO description"), warnings
            ),
            old_path=old_path(item.get("link")),
            other_paths=() if masthead_values.own_id(item) else other_paths(item, kind, site.url),
            price_cents=_price(item) if kind == "product" else None,
            warnings=tuple(warnings),
            authors=self._authors(item),
            levels=masthead_values.levels(item) if kind == "post" else (),
            language=_language(item),
        )

    def _authors(self, item: Item) -> tuple[str, ...]:
        if not self._options.include_authors:
            return ()
        # Our own exports name all of them, and none where a post has none.
        own = (
            item.meta.get(masthead_values.AUTHORS, "").split()
            if masthead_values.own_id(item)
            else None
        )
        logins = [author_id(item.get("creator"))] if own is None else own
        return tuple(each for each in logins if each in self._site.authors_by_login)

    def _html(self, item: Item, warnings: list[str]) -> str:
        stored = masthead_values.own_html(item)
        if stored is not None:
            return stored
        post_id = as_number(item.get("post_id"))
        content = item.fields.get("content", "")
        html, remarks = to_html(content, self._site.attachments, post_id, self._site.reusable)
        warnings.extend(remarks)
        return html

    def _source_id(self, item: Item) -> str:
        """The number of the post, with a suffix where a file has it twice."""
        own = _own_id(item)
        if own in self._times_seen and item.get("link") != own:
            own = f"{own} {item.get('link') or item.get('post_name')}"[:_MAX_ID]
        found = own
        while found in self._times_seen:
            self._times_seen[own] += 1
            found = f"{own} #{self._times_seen[own]}"
        self._times_seen[found] = 1
        return found

    def _published_at(self, item: Item, status: str, warnings: list[str]) -> str:
        """Drafts have none: WordPress stores when they were created."""
        if status != "published":
            return ""
        if exported := masthead_values.own_published_at(item):
            return exported
        moment, warning = published_at(item, self._site.offset)
        if warning:
            warnings.append(warning)
        return moment

    def _scheduled_for(self, item: Item, kind: Kind, warnings: list[str]) -> str:
        if item.get("status").lower() != _SCHEDULED:
            return ""
        if kind != "post":
            warnings.append(NOT_SCHEDULED)
            return ""
        moment = masthead_values.own_scheduled_for(item) or published_at(item, self._site.offset)[0]
        return schedule(moment, warnings)

    def _featured_image(self, item: Item, warnings: list[str]) -> tuple[str, str]:
        named = item.meta.get(THUMBNAIL, "")
        if not named or named == "0":
            return "", ""
        found = self._site.attachments.get(as_number(named))
        if found is None:
            warnings.append(staff_marked("the featured image is not in the export"))
            return "", ""
        return found.url, found.alt


def _own_id(item: Item) -> str:
    if own_id := masthead_values.own_id(item):
        return own_id
    number = as_number(item.get("post_id"))
    if number is not None:
        return str(number)
    named = (item.get(name) for name in ("guid", "link", "post_name", "title"))
    return next((name[:_MAX_ID] for name in named if name), "item")


def _limited(text: str, limit: int, name: str, warnings: list[str]) -> str:
    if len(text) > limit:
        warnings.append(
            staff_words("%(field)s: cut to %(number)s characters.", field=name, number=limit)
        )
    return cut(text, limit)


def _language(item: Item) -> str:
    """The slug of a term that a plugin for several languages adds, such as Polylang."""
    slugs = (each.slug for each in item.categories if each.domain == "language")
    return language_tag_in(next(slugs, ""))


def _tags(item: Item, kind: Kind, warnings: list[str]) -> tuple[str, ...]:
    found: dict[str, str] = {}
    # Categories and tags first: a page may show only some.
    for term in sorted(item.categories, key=lambda each: each.domain not in USUAL):
        name = tag_name(term.name)
        is_tag = term.domain in _PRODUCT_DOMAINS if kind == "product" else are_tags(term.domain)
        # WXR 1.0 has every term twice.
        if is_tag and name:
            name = _limited(name, MAX_TAG, staff_marked("Tag"), warnings)
            found.setdefault(name.casefold(), name)
    if len(found) > MAX_TAGS:
        warnings.append(staff_words("only the first %(number)s tags are imported", number=MAX_TAGS))
    return tuple(found.values())[:MAX_TAGS]


def _slug(name: str) -> str:
    """Decoded, because WordPress stores it percent-encoded."""
    text = _NOT_IN_SLUG.sub("-", unquote(name)).strip("-.")
    return cut(text, _MAX_SLUG).strip("-.")


def _price(item: Item) -> int | None:
    texts = (item.meta.get(key, "") for key in PRICES)
    price = next((text for text in texts if _PRICE.fullmatch(text)), None)
    return None if price is None else round(Decimal(price) * 100)
