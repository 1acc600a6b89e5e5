"""The scopes of API keys, and the alternative names of some."""

from __future__ import annotations

from collections.abc import Iterable

SCOPES: dict[str, str] = {
    "posts:read": "list and view posts",
    "posts:write": "create, update and delete posts",
    "pages:read": "list and view pages",
    "pages:write": "create, update and delete pages",
    "tags:read": "list tags",
    "tags:write": "create, rename, describe and delete tags",
    "media:read": "list and view media",
    "media:write": "upload, change and delete media",
    "comments:read": "list and view comments",
    "comments:write": "submit comments",
    "comments:moderate": "approve, reject and delete comments",
    "members:read": "list and view members, anonymized",
    "members:write": "add and delete members; update a member's tier and status",
    "members:personal": "see members' addresses, names, labels and newsletter choice",
    "tiers:read": "list and view tiers and offers",
    "tiers:write": "create, update and delete tiers and offers",
    "mailings:read": "list and view mailings",
    "mailings:write": "send posts as emails; pause, resume and cancel mailings",
    "site-settings:read": "read the site settings, except secrets",
    "settings:write": "update the site settings that are not secret; list, create and delete "
    "redirects",
    "stats:read": "view how often the site and its posts are read",
    "webhooks:read": "list webhook subscriptions and their deliveries, and poll the events",
    "webhooks:write": "create, update, delete and test webhook subscriptions; send events again",
}

PERSONAL = "members:personal"
"""Not needed by any endpoint: answers show more with it."""

ALIASES: dict[str, str] = {
    "uploads:read": "media:read",
    "uploads:write": "media:write",
    "settings:read": "site-settings:read",
}


def is_scope(name: str) -> bool:
    return name in SCOPES or name in ALIASES


def granted(names: Iterable[str]) -> frozenset[str]:
    """A key's scopes by their canonical names; unknown names are ignored."""
    return frozenset(ALIASES.get(name, name) for name in names if is_scope(name))
