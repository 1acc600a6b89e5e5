"""The posts of both services: the same ids, texts and times on every machine and in every run."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

VERSION = 1
"""Part of the name of every cached data set; increased when the posts change."""

TENANTS = 100
POSTS = 100_000
PER_TENANT = POSTS // TENANTS
PUBLIC_PER_TENANT = PER_TENANT * 8 // 10
WORDS = [
    "lorem",
    "ipsum",
    "dolor",
    "sit",
    "amet",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "the",
    "lazy",
    "dog",
    "news",
    "letter",
    "post",
    "author",
    "member",
    "tier",
    "paid",
    "free",
    "blog",
    "story",
    "write",
    "read",
    "theme",
    "page",
    "tenant",
]

_FIRST_CREATED = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


@dataclass(frozen=True, slots=True)
class Post:
    id: str
    tenant: str
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
    def published_at(self) -> datetime | None:
        return self.created if self.status == "published" else None


def tenant_name(number: int) -> str:
    return f"t{number:03d}"


def tenant_names() -> list[str]:
    return [tenant_name(number) for number in range(TENANTS)]


def posts() -> Iterator[Post]:
    """The 100,000 posts in the order of their creation, tenants in turns."""
    source = random.Random(VERSION)
    for number in range(POSTS):
        tenant, position = number % TENANTS, number // TENANTS
        yield _post(source, number, tenant_name(tenant), position)


def posts_of_one(tenant: str, count: int) -> Iterator[Post]:
    """Of one tenant, to measure whether a list slows down as its tenant grows."""
    source = random.Random(f"{VERSION} {tenant}")
    for number in range(count):
        yield _post(source, number, tenant, number)


def words(source: random.Random, count: int) -> str:
    return " ".join(source.choices(WORDS, k=count))


def _post(source: random.Random, number: int, tenant: str, position: int) -> Post:
    # Of ten posts eight are public, one is for members and one is a draft.
    digit = position % 10
    return Post(
        id="".join(source.choices(_ALPHABET, k=15)),
        tenant=tenant,
        title=f"Post {number} {words(source, 5)}",
        slug=f"post-{number}",
        status="draft" if digit == 9 else "published",
        visibility="members" if digit == 4 else "public",
        tags=["news", f"t{digit}"],
        excerpt=words(source, 25),
        content_html=f"<p>{words(source, 240)}</p>",
        created=_FIRST_CREATED + timedelta(seconds=number * 60, milliseconds=number % 1000),
    )
