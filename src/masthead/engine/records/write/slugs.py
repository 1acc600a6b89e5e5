"""Slugs: the readable part of a URL, derived from a title."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from anyascii import anyascii

_NOT_SLUG = re.compile(r"[^a-z0-9]+")
FALLBACK = "untitled"


def slugify(title: str, max_length: int = 255) -> str:
    """`hello-big-world`: transliterated, lower case, hyphens; never empty."""
    words = _NOT_SLUG.sub("-", anyascii(title).lower().replace("'", "")).strip("-")
    return words[:max_length].strip("-") or FALLBACK


IsTaken = Callable[[str], Awaitable[bool]]


async def find_free_slug(base: str, is_taken: IsTaken, max_length: int) -> str:
    """The base itself, or the base with the next number: `-2`, `-3` …"""
    return await find_numbered_slug(base, is_taken, max_length) if await is_taken(base) else base


async def find_numbered_slug(base: str, is_taken: IsTaken, max_length: int) -> str:
    """The base with the next free number, for a base that is taken.

    A doubling and then a binary search find the number, so that the ten-thousandth post of the same
    title takes two dozen queries and not ten thousand.
    """
    taken, free = 1, 2
    while await is_taken(_numbered(base, free, max_length)):
        taken, free = free, free * 2
    while free - taken > 1:
        middle = (taken + free) // 2
        if await is_taken(_numbered(base, middle, max_length)):
            taken = middle
        else:
            free = middle
    return _numbered(base, free, max_length)


def _numbered(base: str, number: int, max_length: int) -> str:
    suffix = f"-{number}"
    return base[: max_length - len(suffix)].rstrip("-") + suffix
