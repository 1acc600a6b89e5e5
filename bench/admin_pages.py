"""The pages that `bench.admin` asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

from tests.faces.admin.every_page import SAMPLES, Sample

from bench import admin_data, admin_deliveries, admin_readers
from masthead.base import clock

Query = dict[str, str]


@dataclass(frozen=True)
class Page:
    name: str
    path: str
    who: str = "owner"
    status: int = 200
    is_of_site: bool = True
    is_whole: bool = True
    """Not a part of a page that a script asks for, and not a file."""


def pages(names: Mapping[str, str], now: datetime) -> list[Page]:
    author = names["_superusers"]
    found = list(_samples(names))
    lists = {
        "posts": _posts(author),
        "members": _members(),
        "comments": _comments(names),
        "shop/orders": _orders(),
        "shop/gift-cards": {"holder": {"email": admin_readers.GUEST}},
        "webhooks": _deliveries(names),
        "activity": {"of a person": {"account": author}, "of posts": {"subject": "posts"}},
        "tags": {"search": {"q": "tag 1"}},
    }
    for section, queries in lists.items():
        days = 14 if section == "webhooks" else 500
        found += _list_pages(section, queries | _from_the_middle(now - timedelta(days=days)))
    found.append(Page("palette, search", "/admin/palette?q=lorem", is_whole=False))
    of_author = {"drafts": {"status": "draft"}, "search": {"q": "lorem"}}
    found += _list_pages("posts", of_author, "author")
    return found


def _samples(names: Mapping[str, str]) -> Iterator[Page]:
    """Those that are a GET: what is done on a page is another request."""
    for each in SAMPLES:
        # A file of all members takes as long as there are members.
        if each.act or each.site == "empty" or each.who == "guest" or each.name == "members-csv":
            continue
        try:
            path = each.address.format_map(names)
        except KeyError as missing:
            print(f"not measured: {each.name}, there is no {missing}")
            continue
        yield _page(each, path)


def _page(sample: Sample, path: str) -> Page:
    return Page(sample.name, path, sample.who, sample.status, sample.site != "", sample.is_page)


def _list_pages(section: str, queries: Mapping[str, Query], who: str = "owner") -> Iterator[Page]:
    of = "" if who == "owner" else f" of an {who}"
    for name, query in queries.items():
        yield Page(f"{section}{of}, {name}", f"/admin/{section}?{urlencode(query)}", who)


def _from_the_middle(moment: datetime) -> dict[str, Query]:
    """To either side. A cursor need not be that of a record."""
    mark = f"{clock.to_text(moment)}~{'m' * 15}"
    return {f"{side} the middle": {side: mark, "at": "2000"} for side in ("after", "before")}


def _posts(author: str) -> dict[str, Query]:
    filters = {
        "drafts": {"status": "draft"},
        "scheduled": {"status": "scheduled"},
        "published": {"status": "published"},
        "public": {"visibility": "public"},
        "paid": {"visibility": "paid"},
        "paid drafts": {"status": "draft", "visibility": "paid"},
        "paid and published": {"status": "published", "visibility": "paid"},
        "tag": {"tag": admin_data.COMMON_TAG},
        "rare tag": {"tag": admin_data.RARE_TAG},
        "tag, drafts": {"tag": admin_data.COMMON_TAG, "status": "draft"},
        "tag, paid": {"tag": admin_data.COMMON_TAG, "visibility": "paid"},
        "author": {"author": author},
        "author, drafts": {"author": author, "status": "draft"},
        "author, paid": {"author": author, "visibility": "paid"},
        "author, paid drafts": {"author": author, "visibility": "paid", "status": "draft"},
        "author, tag": {"author": author, "tag": admin_data.RARE_TAG},
        "search": {"q": "lorem"},
        "search, rare": {"q": admin_data.RARE_WORD},
        "search, drafts": {"q": "lorem", "status": "draft"},
        "search, paid": {"q": "lorem", "visibility": "paid"},
        "search, rare tag": {"q": "lorem", "tag": admin_data.RARE_TAG},
    }
    orders = {"by title": "title", "by title, down": "-title", "oldest change": "changed"}
    lists = dict(filters)
    for order, sort in orders.items():
        lists[order] = {"sort": sort}
        for name in ("drafts", "published", "paid", "paid drafts"):
            lists[f"{name}, {order}"] = {**filters[name], "sort": sort}
    lists["by title, after the middle"] = {"sort": "title", "after": f"M~{'m' * 15}"}
    return lists


def _members() -> dict[str, Query]:
    common, rare = {"label": admin_readers.COMMON_LABEL}, {"label": admin_readers.RARE_LABEL}
    return {
        "paid": {"tier": "paid"},
        "cancelled": {"status": "cancelled"},
        "payment late": {"status": "past_due"},
        "late, free": {"status": "past_due", "tier": "free"},
        "newsletter": {"newsletter": "yes"},
        "paid, newsletter": {"tier": "paid", "newsletter": "yes"},
        "cancelled, newsletter": {"status": "cancelled", "newsletter": "yes"},
        "paid, late, newsletter": {"tier": "paid", "status": "past_due", "newsletter": "yes"},
        "in 7 days": {"joined": "7"},
        "in a year, late": {"joined": "365", "status": "past_due"},
        "label": common,
        "rare label": rare,
        "label, paid": {**common, "tier": "paid"},
        "label, late": {**common, "status": "past_due"},
        "label, free and late": {**common, "tier": "free", "status": "past_due"},
        "label, newsletter": {**common, "newsletter": "no"},
        "rare label, newsletter": {**rare, "newsletter": "no"},
        "search": {"q": "ana"},
        "search, one": {"q": "member4711"},
        "search, late": {"q": "ana", "status": "past_due"},
        "search, late, free": {"q": "ana", "status": "past_due", "tier": "free"},
        "search, rare label": {"q": "ana", **rare},
        "oldest": {"sort": "created"},
        "paid, oldest": {"tier": "paid", "sort": "created"},
    }


def _comments(names: Mapping[str, str]) -> dict[str, Query]:
    member = {"member": names.get("blog_members", "m" * 15)}
    post = {"post": names["posts"]}
    return {
        "approved": {"status": "approved"},
        "spam": {"status": "spam"},
        "all": {"status": "all"},
        "member": {**member, "status": "all"},
        "member, spam": {**member, "status": "spam"},
        "member, waiting": member,
        "post": {**post, "status": "all"},
        "post, spam": {**post, "status": "spam"},
        "post, waiting": post,
        "search": {"q": "lorem", "status": "all"},
        "search, spam": {"q": "lorem", "status": "spam"},
        "search, waiting": {"q": "lorem"},
        "search, member": {"q": "lorem", "status": "all", **member},
    }


def _orders() -> dict[str, Query]:
    buyer = {"email": "member0@readers.example"}
    return {
        "paid": {"status": "paid"},
        "refunded": {"status": "refunded"},
        "buyer": buyer,
        "buyer, refunded": {**buyer, "status": "refunded"},
    }


def _deliveries(names: Mapping[str, str]) -> dict[str, Query]:
    often, off = names["webhook_subscriptions"], names["webhook_subscriptions-off"]
    rare = admin_deliveries.EVENTS[-1]
    return {
        "waiting": {"state": "pending"},
        "delivered": {"state": "delivered"},
        "dead": {"state": "dead"},
        "dropped": {"state": "dropped"},
        "event": {"event": "post.published"},
        "rare event": {"event": rare},
        "one webhook": {"webhook": often},
        "one webhook, dead": {"webhook": often, "state": "dead"},
        "turned off, dead": {"webhook": off, "state": "dead"},
        "last hour": {"time": "1h"},
        "last 30 days": {"time": "30d"},
        "dead in 24 hours": {"state": "dead", "time": "24h"},
        "dead, rare event": {"state": "dead", "event": rare},
        "one webhook, rare event": {"webhook": often, "event": rare},
        "turned off, dead, rare event": {"webhook": off, "state": "dead", "event": rare},
    }
