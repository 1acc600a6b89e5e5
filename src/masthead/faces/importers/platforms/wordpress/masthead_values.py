"""Reads the values that our own WXR exports add (`faces/site_export/wxr.py`), so that a round trip
loses nothing. They are validated like the rest of a file."""

from __future__ import annotations

import re
from typing import Final, Literal

from masthead.base.ids import is_id
from masthead.content.cards.html import OWN_MARK
from masthead.faces.importers.dates import any_utc_text, utc_text
from masthead.faces.importers.platforms.wordpress.items import Item

ID: Final = "_masthead_id"
VISIBILITY: Final = "_masthead_visibility"
TIERS: Final = "_masthead_tiers"
EMAIL_ONLY: Final = "_masthead_email_only"
PUBLISHED_AT: Final = "_masthead_published_at"
SCHEDULED_FOR: Final = "_masthead_scheduled_for"
AUTHORS: Final = "_masthead_authors"
META: Final = frozenset({ID, VISIBILITY, TIERS, EMAIL_ONLY, PUBLISHED_AT, SCHEDULED_FOR, AUTHORS})

_VISIBILITIES: Final[dict[str, Literal["public", "members", "paid"]]] = {
    "members": "members",
    "paid": "paid",
}
_CARDS: Final = re.compile(f"<!-- wp:|{re.escape(OWN_MARK)}")
_ONE_BLOCK: Final = re.compile(r"<!-- wp:html -->\n(.*)\n<!-- /wp:html -->", re.DOTALL)


def own_id(item: Item) -> str:
    """The id of the exported record, because the numbers differ in every export; '' for none."""
    found = item.meta.get(ID, "")
    return found if is_id(found) else ""


def own_html(item: Item) -> str | None:
    """The stored body, which needs no rendering. None for an item of WordPress, and for a body
    with cards, each of which has a block of its own."""
    content = item.fields.get("content", "")
    whole = _ONE_BLOCK.fullmatch(content) if own_id(item) else None
    return whole[1] if whole and not _CARDS.search(whole[1]) else None


def visibility(item: Item) -> Literal["public", "members", "paid"]:
    return _VISIBILITIES.get(item.meta.get(VISIBILITY, ""), "public")


def levels(item: Item) -> tuple[str, ...]:
    """The names of the tiers of a post for paid members."""
    if visibility(item) != "paid":
        return ()
    return tuple(dict.fromkeys(filter(None, item.meta.get(TIERS, "").split("\n"))))


def is_email_only(item: Item) -> bool:
    return item.meta.get(EMAIL_ONLY) == "1"


def own_scheduled_for(item: Item) -> str:
    return any_utc_text(item.meta.get(SCHEDULED_FOR, ""))


def own_published_at(item: Item) -> str:
    """With milliseconds, which WordPress does not have."""
    return utc_text(item.meta.get(PUBLISHED_AT, ""))
