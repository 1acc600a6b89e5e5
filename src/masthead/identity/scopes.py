"""The scopes of API keys, and the alternative names of some."""

from __future__ import annotations

from collections.abc import Iterable

from masthead.base.languages.words import staff_marked

SCOPES: dict[str, str] = {
    "posts:read": staff_marked("list and view posts"),
    "posts:write": staff_marked("create, update and delete posts"),
    "pages:read": staff_marked("list and view pages"),
    "pages:write": staff_marked("create, update and delete pages"),
    "tags:read": staff_marked("list tags"),
    "tags:write": staff_marked("create, rename, describe and delete tags"),
    "media:read": staff_marked("list and view media"),
    "media:write": staff_marked("upload, change and delete media"),
    "comments:read": staff_marked("list and view comments"),
    "comments:write": staff_marked("submit comments"),
    "comments:moderate": staff_marked("approve, reject and delete comments"),
    "members:read": staff_marked("list and view members, anonymized"),
    "members:write": staff_marked("add and delete members; update a member's tier and status"),
    "members:personal": staff_marked("see members' addresses, names, labels and newsletter choice"),
    "tiers:read": staff_marked("list and view tiers and offers"),
    "tiers:write": staff_marked("create, update and delete tiers and offers"),
    "mailings:read": staff_marked("list and view mailings"),
    "mailings:write": staff_marked("send posts as emails; pause, resume and cancel mailings"),
    "site-settings:read": staff_marked("read the site settings, except secrets"),
    "settings:write": staff_marked(
        "update the site settings that are not secret; list, create and delete redirects"
    ),
    "stats:read": staff_marked("view how often the site and its posts are read"),
    "webhooks:read": staff_marked(
        "list webhook subscriptions and their deliveries, and poll the events"
    ),
    "webhooks:write": staff_marked(
        "create, update, delete and test webhook subscriptions; send events again"
    ),
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
