"""Reads the demo magazine: `magazine.json` has its people, posts, tiers and comments, `texts/` the
text of each post."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec

_FOLDER = Path(__file__).parent


class DemoAuthor(msgspec.Struct, frozen=True):
    name: str
    bio: str


class DemoMember(msgspec.Struct, frozen=True):
    name: str
    tier: str = "free"
    newsletter: bool = True
    status: str = "active"

    @property
    def email(self) -> str:
        return f"{self.name.lower().replace(' ', '.').replace(chr(39), '')}@example.com"


class DemoPost(msgspec.Struct, frozen=True):
    key: str
    """The name of its file in `texts/`, and the `post` of a comment."""
    title: str
    days_ago: int
    tags: tuple[str, ...]
    excerpt: str
    status: str = "published"
    visibility: str = "public"
    author: str = ""
    """The author's name; without one, a post is the owner's."""
    picture: str = ""
    alt: str = ""

    @property
    def markdown(self) -> str:
        return (_FOLDER / "texts" / f"{self.key}.md").read_text(encoding="utf-8")


class DemoComment(msgspec.Struct, frozen=True):
    post: str
    author: str
    body: str
    replies_to: int | None = None
    """The index of the comment that it replies to."""
    status: str = "approved"


class Magazine(msgspec.Struct, frozen=True):
    authors: tuple[DemoAuthor, ...]
    posts: tuple[DemoPost, ...]
    """Public ones, ones for members, and drafts."""
    tiers: tuple[dict[str, Any], ...]
    """Nobody pays for them: their payment pages don't exist."""
    members: tuple[DemoMember, ...]
    comments: tuple[DemoComment, ...]


@cache
def read_magazine() -> Magazine:
    return msgspec.json.decode((_FOLDER / "magazine.json").read_bytes(), type=Magazine)
