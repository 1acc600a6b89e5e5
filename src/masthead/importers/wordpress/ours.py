"""What our own exports say beyond WordPress (`site_export/wxr.py` writes it), so that what comes
back is what was there. It tells the same things as the rest of a file, and is trusted no more."""

from __future__ import annotations

import re
from typing import Final, Literal

from masthead.ids import is_id
from masthead.importers.dates import utc_text
from masthead.importers.wordpress.items import Item

ID: Final = "_masthead_id"
VISIBILITY: Final = "_masthead_visibility"
PUBLISHED_AT: Final = "_masthead_published_at"
META: Final = frozenset({ID, VISIBILITY, PUBLISHED_AT})

_VISIBILITIES: Final[dict[str, Literal["public", "members", "paid"]]] = {
    "members": "members",
    "paid": "paid",
}
_ONE_BLOCK: Final = re.compile(r"<!-- wp:html -->\n(.*)\n<!-- /wp:html -->", re.DOTALL)


def own_id(item: Item) -> str:
    """The record's id, which numbers in the file are made anew beside; '' for none."""
    found = item.meta.get(ID, "")
    return found if is_id(found) else ""


def own_html(item: Item) -> str | None:
    """The body as it was stored: nothing in it is WordPress's to interpret. None for any other."""
    content = item.fields.get("content", "")
    whole = _ONE_BLOCK.fullmatch(content) if own_id(item) else None
    return whole[1] if whole else None


def visibility(item: Item) -> Literal["public", "members", "paid"]:
    return _VISIBILITIES.get(item.meta.get(VISIBILITY, ""), "public")


def own_published_at(item: Item) -> str:
    """To the millisecond, where WordPress counts in seconds."""
    return utc_text(item.meta.get(PUBLISHED_AT, ""))
