"""The links of the frame: only pages that exist, and only those that the caller can use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from masthead.base.languages.words import words
from masthead.engine.records.access import access_of
from masthead.engine.records.fields.base import Access
from masthead.engine.records.filter.conditions import equals
from masthead.faces.admin.attention import LATELY
from masthead.faces.admin.request import AdminRequest, Count
from masthead.features.comments.collection import PENDING, comments
from masthead.features.commerce.collection import gift_cards, orders, products
from masthead.features.payments.collection import tiers


class Link(msgspec.Struct, frozen=True):
    label: str
    url: str
    icon: str
    is_current: bool = False
    count: Count | None = None


class Group(msgspec.Struct, frozen=True):
    label: str
    links: tuple[Link, ...]


class _Entry(NamedTuple):
    label: str
    url: str
    icon: str
    access: Access = Access.CONTRIBUTOR
    """The lowest level that can use the page."""
    others: tuple[str, ...] = ()
    """The beginnings of further addresses whose pages are found through this one."""


HOME = _Entry(words("Home"), "/admin", "house", others=("/admin/statistics",))
SNIPPETS = _Entry(words("Snippets"), "/admin/snippets", "copy")
"""A page that the list of posts leads to."""
POSTS = _Entry(words("Posts"), "/admin/posts", "file-text", others=(SNIPPETS.url,))
TENANTS = _Entry(words("Sites"), "/admin/tenants", "globe")
COMMENTS = _Entry(words("Comments"), "/admin/comments", "message-square", Access.EDITOR)
MEMBERS = _Entry(words("Members"), "/admin/members", "users", Access.EDITOR)
WEBHOOKS = _Entry(words("Webhooks"), "/admin/webhooks", "webhook", Access.ADMIN)
MORE = _Entry(words("More"), "/admin/more", "menu")
EXPORT = _Entry(words("Export"), "/admin/tools/export", "download", Access.ADMIN)

# A line for each page, in the order of the frame: at most 13, which fit beside a page.
_CONTENT = (
    HOME,
    POSTS,
    _Entry(words("Pages"), "/admin/pages", "files", Access.EDITOR),
    _Entry(words("Media"), "/admin/media", "image"),
    _Entry(words("Tags"), "/admin/tags", "tag", Access.EDITOR),
    _Entry(words("Trash"), "/admin/trash", "trash-2"),
)
_READERS = (
    COMMENTS,
    MEMBERS,
    _Entry(words("Mailings"), "/admin/mailings", "send", Access.EDITOR),
)
IN_SHOP = (
    _Entry(words("Orders"), "/admin/shop/orders", "shopping-bag", Access.ADMIN),
    _Entry(words("Tiers"), "/admin/shop/tiers", "credit-card", Access.ADMIN),
    _Entry(words("Offers"), "/admin/shop/offers", "ticket-percent", Access.ADMIN),
    _Entry(words("Products"), "/admin/shop/products", "package", Access.ADMIN),
    _Entry(words("Gift cards"), "/admin/shop/gift-cards", "gift", Access.ADMIN),
)
"""Tabs of the shop's pages."""
_SHOP = IN_SHOP[0]._replace(label=words("Shop"), others=tuple(each.url for each in IN_SHOP))
IN_SETTINGS = (
    _Entry(words("Import"), "/admin/tools/import", "import", Access.ADMIN),
    EXPORT,
    _Entry(words("Activity"), "/admin/activity", "history", Access.ADMIN),
)
"""Beside the settings."""
_SITE = (
    _Entry(words("People"), "/admin/staff", "users", Access.ADMIN),
    WEBHOOKS,
    _Entry(
        words("Settings"),
        "/admin/settings",
        "settings",
        Access.ADMIN,
        others=tuple(each.url for each in IN_SETTINGS),
    ),
)
_ACCOUNT = _Entry(words("Your account"), "/admin/account", "user")
"""At the foot of the frame; on a phone with the others."""
DATA_PROTECTION = _Entry(words("Data protection"), "/admin/settings/privacy", "lock", Access.ADMIN)
"""A page of the settings; a link of its own if it is all that is open."""
_OPERATE = (
    TENANTS,
    _Entry(words("Queue"), "/admin/operator/queue", "list-ordered"),
    _Entry(words("Errors"), "/admin/operator/errors", "circle-alert"),
    _Entry(words("Sending domain"), "/admin/operator/sending", "send"),
    _Entry(words("Activity everywhere"), "/admin/operator/activity", "history"),
    _Entry(words("Components"), "/admin/components", "panel-right"),
)


def groups_of(request: AdminRequest) -> tuple[Group, ...]:
    """The links beside every page. An operator sees those of the service at its own pages, and
    those of the site at the others."""
    if request.is_shut_out:
        open_pages = _usable(request, (EXPORT, DATA_PROTECTION))
        return (Group("", _links(request, HOME, *open_pages)),)
    if request.site is None or (request.is_operator and _is_in(request.path, _OPERATE)):
        home = () if request.site is None else (Group("", _links(request, HOME)),)
        operate = _OPERATE if request.is_operator else ()
        return (*home, Group(words("Operate"), _links(request, *operate)))
    readers = _usable(request, (*_READERS, *((_SHOP,) if request.sells else ())))
    groups = (
        Group("", _links(request, *_usable(request, _CONTENT))),
        Group(words("Readers"), _links(request, *readers)),
        Group(words("Site"), _links(request, *_usable(request, _SITE))),
    )
    return tuple(each for each in groups if each.links)


def every_group_of(request: AdminRequest) -> tuple[Group, ...]:
    """All pages, for a phone's page "More" and for the search: with those that others lead to."""
    groups = list(groups_of(request))
    if request.site is not None and not request.is_shut_out:
        groups.append(Group(words("Writing"), _links(request, SNIPPETS)))
        if request.sells and (shop := _usable(request, IN_SHOP)):
            groups.append(Group(words("Shop"), _links(request, *shop)))
        if settings := _usable(request, IN_SETTINGS):
            groups.append(Group(words("Settings"), _links(request, *settings)))
        if request.is_operator and not _is_in(request.path, _OPERATE):
            groups.append(Group(words("Operate"), _links(request, *_OPERATE)))
    return (*groups, Group("", _links(request, _ACCOUNT)))


def shop_tabs(request: AdminRequest) -> list[tuple[str, str, bool, None]]:
    """For the macro `tabs`."""
    return [(each.label, each.url, each.is_current, None) for each in _links(request, *IN_SHOP)]


def bottom_of(request: AdminRequest) -> tuple[Link, ...]:
    """The bar at the bottom of a phone. Links without room there are on the page "More"."""
    if request.site is None:
        return _links(request, TENANTS, MORE)
    if request.is_shut_out:
        return _links(request, HOME, MORE)
    return _links(request, HOME, POSTS, *_usable(request, (MEMBERS, COMMENTS)), MORE)


async def count_waiting(request: AdminRequest) -> None:
    """For the links that say how much waits: from counters, or from the beginning of an index, so
    that no page waits for a count."""
    if request.site is None or request.is_shut_out:
        return
    if _usable(request, (COMMENTS,)):
        waiting = await request.records.counts.total(
            request.caller, comments, equals("status", PENDING)
        )
        request.waiting[COMMENTS.url] = Count(waiting, words("waiting"))
    if _usable(request, (_SHOP,)) and not _is_in(request.path, (_SHOP,)):
        request.sells = await _sells(request)
    if _usable(request, (WEBHOOKS,)):
        # As on the home page: earlier deaths are no longer shown.
        since = request.records.clock() - LATELY
        log = request.services.webhooks.deliveries.log
        dead = await log.count_lately_dead(request.tenant_id, since)
        request.waiting[WEBHOOKS.url] = Count(
            dead.total, words("dead deliveries"), is_bad=True, has_more=not dead.is_exact
        )


async def _sells(request: AdminRequest) -> bool:
    """From counters. A site that sells has tiers or products: the others are rarely asked."""
    for each in (tiers, products, orders, gift_cards):
        if await request.records.counts.total(request.caller, each, ""):
            return True
    return False


def _usable(request: AdminRequest, entries: Iterable[_Entry]) -> list[_Entry]:
    access = access_of(request.caller)
    return [each for each in entries if each.access <= access]


def _links(request: AdminRequest, *entries: _Entry) -> tuple[Link, ...]:
    return tuple(
        Link(
            each.label,
            each.url,
            each.icon,
            _is_in(request.path, (each,)),
            request.waiting.get(each.url),
        )
        for each in entries
    )


def _is_in(path: str, entries: Iterable[_Entry]) -> bool:
    """Whether the path is that of one of the pages, or below it."""
    return any(_is_at(path, url) for each in entries for url in (each.url, *each.others))


def _is_at(path: str, url: str) -> bool:
    return path == url or (url != HOME.url and path.startswith(f"{url}/"))
