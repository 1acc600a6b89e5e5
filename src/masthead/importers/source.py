"""What an export file holds, in the words of Masthead: every reader yields these shapes and
nothing else, so that one run writes posts, members and images of all platforms alike.

What is made by the thousand and goes from process to process is a `Struct`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from msgspec import Struct

from masthead.errors import MastheadError


class BadFile(MastheadError):
    """The file can't be imported at all; the message is one sentence for the person who gave it."""


Kind = Literal["post", "page", "product"]

PAYWALL = '<hr class="paywall">'
"""Stands in a text where the part begins that only those see whom its visibility lets in."""


def post_key(kind: Kind, source_id: str) -> str:
    """What an import remembers an item by."""
    return f"{kind}:{source_id}"


class SourcePost(Struct, frozen=True):
    """A post, page or product as the other platform had it, with the body already HTML.

    The HTML is as the source wrote or rendered it: not sanitized, images still at the old place.
    """

    source_id: str
    """Stable in the source's own words; with the tenant and the platform it names the item."""
    kind: Kind
    title: str
    slug: str = ""
    html: str = ""
    excerpt: str = ""
    status: Literal["draft", "published"] = "draft"
    visibility: Literal["public", "members", "paid"] = "public"
    published_at: str = ""
    """UTC, in the service's own form (`masthead.clock`); '' when the source has no usable date."""
    tags: tuple[str, ...] = ()
    featured_image: str = ""
    featured_image_alt: str = ""
    seo_title: str = ""
    seo_description: str = ""
    old_path: str = ""
    """Path and query of the old permalink, for the redirects; '' when there was none."""
    price_cents: int | None = None
    currency: str = ""
    warnings: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    """The source ids of those who wrote it, where authors are asked for."""


class SourceAuthor(Struct, frozen=True):
    """One of those who wrote posts. Known here by the e-mail address."""

    source_id: str
    email: str
    name: str = ""
    bio: str = ""


class SourceMember(Struct, frozen=True):
    email: str
    name: str = ""
    tier: Literal["free", "paid"] = "free"
    newsletter: bool = True
    payment_customer_id: str = ""
    created: str = ""
    """UTC, in the service's own form; '' when unknown."""


class SourceComment(Struct, frozen=True):
    """A comment as text. A reader yields it after the one that it answers."""

    source_id: str
    post_key: str
    """What the import remembers its post by."""
    parent_id: str = ""
    """The source id of the comment that it answers; '' for none."""
    author_name: str = ""
    author_email: str = ""
    body: str = ""
    status: Literal["approved", "pending", "spam"] = "pending"
    created: str = ""
    """UTC, in the service's own form; '' when unknown."""
    warnings: tuple[str, ...] = ()


class Skipped(Struct, frozen=True):
    """Something in the file that is left out on purpose, with a reason to count and show."""

    what: Literal["post", "page", "product", "member", "comment", "author"]
    source_id: str
    reason: str
    """Short and the same for all of its kind: 'scheduled', 'page', 'password protected'."""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Options:
    """What the flags ask of a reader."""

    site_url: str = ""
    """The old address, for exports that do not tell it; without a trailing slash."""
    include_pages: bool = False
    include_products: bool = False
    include_comments: bool = False
    include_authors: bool = False
    skip_posts: bool = False
    skip_members: bool = False


@dataclass(frozen=True, slots=True)
class Overview:
    """What a first, cheap pass knows: for the progress bar and for resolving images."""

    platform: Literal["wordpress", "substack", "ghost"]
    site_url: str = ""
    posts: int | None = None
    members: int | None = None
    comments: int = 0
    """Those that are to be imported."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """How many `comments` and `authors` there are that nobody has asked for."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Images that lie in the archive itself: their old URL or path, and the name of the entry."""


class Source(Protocol):
    """An opened export. Opening refuses what is not the format (`BadFile`) before anything is
    written; reading streams, so that memory does not grow with the file."""

    overview: Overview

    def posts(self) -> Iterator[SourcePost | Skipped]: ...

    def authors(self) -> Iterator[SourceAuthor | Skipped]: ...

    def members(self) -> Iterator[SourceMember | Skipped]: ...

    def comments(self) -> Iterator[SourceComment | Skipped]: ...

    def read_file(self, entry: str) -> bytes:
        """An image of `overview.files`; at most the limit of an upload."""
        ...

    def close(self) -> None: ...
