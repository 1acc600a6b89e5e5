"""The content of an export as types that every reader yields, so that one pipeline writes posts,
members and images of all platforms.

Items are `Struct`s, because thousands of them are sent between processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, Protocol

import msgspec
from msgspec import Struct

from masthead.base.errors import MastheadError
from masthead.base.languages.words import staff_marked


class BadFile(MastheadError):
    """The file can't be imported; the message is one sentence for the user."""


Kind = Literal["post", "page", "product"]

NOT_SCHEDULED = staff_marked("It was scheduled, but only posts can be, so it is a draft now.")
PAYWALL = '<hr class="paywall">'
"""Marks where the part of a text begins that only members of its visibility may read."""


def post_key(kind: Kind, source_id: str) -> str:
    """The `source_id` of an item in `import_items`."""
    return f"{kind}:{source_id}"


class SourcePost(Struct, frozen=True):
    """A post, page or product of the other platform.

    Its HTML is not sanitized and has the old addresses of pictures.
    """

    source_id: str
    """The id in the source, the same in every export."""
    kind: Kind
    title: str
    slug: str = ""
    html: str = ""
    excerpt: str = ""
    status: Literal["draft", "published"] = "draft"
    visibility: Literal["public", "members", "paid"] = "public"
    email_only: bool = False
    """Sent by email, without a page."""
    published_at: str = ""
    """UTC, in the format of `masthead.base.clock`; '' where the source has no usable date."""
    scheduled_for: str = ""
    """When a draft is to be published, in the same format."""
    tags: tuple[str, ...] = ()
    featured_image: str = ""
    featured_image_alt: str = ""
    seo_title: str = ""
    seo_description: str = ""
    old_path: str = ""
    """Path and query of the old permalink, for redirects; '' for none."""
    other_paths: tuple[str, ...] = ()
    """More old addresses of it, such as `/?p=12`."""
    price_cents: int | None = None
    currency: str = ""
    warnings: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    """Source ids, if authors are imported."""
    levels: tuple[str, ...] = ()
    """The names of the paid tiers that it is for there; empty for every paid member."""
    language: str = ""
    """A tag, where the source says it."""


class SourceAuthor(Struct, frozen=True):
    source_id: str
    email: str
    name: str = ""
    bio: str = ""
    slug: str = ""
    """The slug of the author's page; '' if the source does not say it."""


class OldAddress(Struct, frozen=True):
    """An address of the old site that is of no post or page: of a feed, a list or a file."""

    path: str
    """With the query, if it has one."""
    leads_to: Literal["feed", "atom", "archive", "tag", "tag feed", "author", "author feed", "file"]
    name: str = ""
    """The name of the tag; the source id of the author; the address of the file; for the archive,
    the day before which its posts were published, '' for all."""
    post_id: str = ""
    """The source id of the post or page that a file belongs to, where it is not copied."""


class SourceMember(Struct, frozen=True):
    email: str
    name: str = ""
    tier: Literal["free", "paid"] = "free"
    newsletter: bool = True
    payment_customer_id: str = ""
    created: str = ""
    """UTC, in the format of `masthead.base.clock`; '' if unknown."""
    labels: tuple[str, ...] = ()
    note: str = ""
    past_state: Literal["", "cancelled", "past_due"] = ""
    """'' for active."""
    levels: tuple[str, ...] = ()
    """The names of the paid tiers that they have there."""
    language: str = ""
    """A tag, where the source says it."""


class SourceComment(Struct, frozen=True):
    """A comment as text. A reader yields it after its parent."""

    source_id: str
    post_key: str
    """`post_key` of its post."""
    parent_id: str = ""
    """The source id of the comment that it replies to; '' for none."""
    author_name: str = ""
    author_email: str = ""
    body: str = ""
    status: Literal["approved", "pending", "spam"] = "pending"
    created: str = ""
    """UTC, in the format of `masthead.base.clock`; '' if unknown."""
    warnings: tuple[str, ...] = ()


class Skipped(Struct, frozen=True):
    """An item that is not imported, with the reason."""

    what: Literal["post", "page", "product", "member", "comment", "author"]
    source_id: str
    reason: str
    """Short and without details, because reports count by reason: 'scheduled', 'page'."""
    title: str = ""


class Options(msgspec.Struct, frozen=True):
    """The options of a reader."""

    site_url: str = ""
    """The old address, for exports that do not have it; without a trailing slash."""
    include_pages: bool = False
    include_products: bool = False
    include_comments: bool = False
    include_authors: bool = False
    include_unpublished: bool = False
    """Private and pending posts as drafts, scheduled ones as scheduled."""
    skip_posts: bool = False
    skip_members: bool = False
    consent: str = ""
    """How the members agreed to get newsletters."""


def site_url_of(given: str) -> str | None:
    """The old address as `Options` has it; None for what is no address."""
    url = given.strip().rstrip("/")
    return url if not url or url.startswith(("http://", "https://")) else None


class Overview(msgspec.Struct, frozen=True):
    """The result of a first pass, for the progress bar and for resolving images."""

    platform: Literal["wordpress", "substack", "ghost"]
    site_url: str = ""
    posts: int | None = None
    members: int | None = None
    comments: int = 0
    """To be imported."""
    left_out: Mapping[str, int] = msgspec.field(default_factory=dict)
    """Counts of `comments` and `authors` that the options leave out."""
    files: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Images in the archive: from their old URL or path to the name of the entry."""


class Source(Protocol):
    """An opened export. Opening raises `BadFile` for another format, before anything is written.
    Items are streamed, so that memory does not grow with the file."""

    overview: Overview

    def posts(self) -> Iterator[SourcePost | Skipped]: ...

    def authors(self) -> Iterator[SourceAuthor | Skipped]: ...

    def members(self) -> Iterator[SourceMember | Skipped]: ...

    def comments(self) -> Iterator[SourceComment | Skipped]: ...

    def addresses(self) -> Iterator[OldAddress]:
        """Old addresses of feeds, lists and files, also of those that are not imported."""
        ...

    def read_file(self, entry: str) -> bytes:
        """An image of `overview.files`, at most as large as an upload."""
        ...

    def close(self) -> None: ...
