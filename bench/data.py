"""The posts of all services: the same ids, texts and times on every machine and in every run."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

VERSION = 2
"""Part of the name of every cached data set; increased when the posts change."""

_TEXT = (
    "lorem ipsum dolor sit amet quick brown fox jumps over the lazy dog news letter post author"
    " member tier paid free blog story write read theme page tenant"
)
WORDS = _TEXT.split()

_FIRST_CREATED = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


@dataclass(frozen=True, slots=True)
class Post:
    id: str
    site: str
    title: str
    slug: str
    status: str
    visibility: str
    tags: list[str]
    excerpt: str
    content_html: str
    created: datetime

    @property
    def is_public(self) -> bool:
        return self.status == "published" and self.visibility == "public"

    @property
    def published_at(self) -> str:
        return "" if self.status == "draft" else stored_time(self.created)

    def fields(self) -> dict[str, Any]:
        """The body of a request that creates it, in both services."""
        names = ("id", "title", "slug", "status", "visibility", "tags", "excerpt", "content_html")
        return {name: getattr(self, name) for name in names} | {"published_at": self.published_at}


@dataclass(frozen=True)
class Content:
    """Posts of about 1.8 KB, the same number in each site."""

    sites: int
    posts: int
    prefix: str = "t"
    """The beginning of the sites' names."""

    @property
    def name(self) -> str:
        return f"{self.prefix}-{self.sites}-{self.posts}-{VERSION}"

    @property
    def site_names(self) -> list[str]:
        return [f"{self.prefix}{number:03d}" for number in range(self.sites)]

    @cached_property
    def by_site(self) -> dict[str, list[Post]]:
        """Newest first."""
        found: dict[str, list[Post]] = {site: [] for site in self.site_names}
        for post in self:
            found[post.site].append(post)
        for posts in found.values():
            posts.reverse()
        return found

    @cached_property
    def public(self) -> dict[str, list[Post]]:
        """Newest first."""
        return {
            site: [post for post in posts if post.is_public] for site, posts in self.by_site.items()
        }

    def __iter__(self) -> Iterator[Post]:
        """In the order of their creation, sites in turn."""
        source = random.Random(f"{VERSION} {self.prefix}")
        names = self.site_names
        for number in range(self.posts):
            yield _post(source, number, names[number % self.sites], number // self.sites)


def stored_time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def words(source: random.Random, count: int) -> str:
    return " ".join(source.choices(WORDS, k=count))


def _post(source: random.Random, number: int, site: str, position: int) -> Post:
    # Of ten posts eight are public, one is for members and one is a draft.
    digit = position % 10
    return Post(
        id="".join(source.choices(_ALPHABET, k=15)),
        site=site,
        title=f"Post {number} {words(source, 5)}",
        slug=f"post-{number}",
        status="draft" if digit == 9 else "published",
        visibility="members" if digit == 4 else "public",
        tags=["news", f"t{digit}"],
        excerpt=words(source, 25),
        content_html=f"<p>{words(source, 240)}</p>",
        created=_FIRST_CREATED + timedelta(seconds=number * 60, milliseconds=number % 1000),
    )
