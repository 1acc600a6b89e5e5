"""The addresses that pages of a site can't have, because the service answers them itself."""

from __future__ import annotations

from typing import Final

FACES: Final = frozenset({"_", "admin", "api", "assets", "mcp", "media", "member"})
"""First segments of paths that belong to other faces as a whole."""

RESERVED: Final = FACES | {
    ".well-known",
    "archive",
    "atom.xml",
    "authors",
    "draft",
    "favicon.ico",
    "feed",
    "feed.json",
    "feed.xml",
    "llms.txt",
    "mail",
    "metrics",
    "oembed",
    "plans",
    "posts",
    "robots.txt",
    "rss",
    "search",
    "share",
    "sitemap",
    "sitemap.xml",
    "tags",
}
"""Slugs that no page can have. Some have no route: programs ask for them on every site, or links to
imported sites do."""
