"""Private files in texts that guests read: what a guest gets does not name them, because they would
not open."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any, Final

from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.engine.links.file_uses import named_files
from masthead.engine.records.engine import Records
from masthead.features.media.collection import media

AT_ONCE: Final = 1_000
_WHOLE: Final = re.compile(r"<(?:img|source|track)\b", re.IGNORECASE)
"""Elements that are nothing without their file."""


async def private_files(
    records: Records, tenant_id: TenantId | None, texts: Iterable[str]
) -> frozenset[str]:
    """The ids of those files in the texts that are private."""
    ids, hidden = sorted(named_files(texts)), set()
    for first in range(0, len(ids), AT_ONCE):
        some = ids[first : first + AT_ONCE]
        found = await records.find_related(
            system(tenant_id),
            media,
            "id",
            some,
            limit=len(some),
            names=frozenset({"id", "private"}),
        )
        hidden |= {each["id"] for each in found if each["private"]}
    return frozenset(hidden)


def without_files(html: str, hidden: Collection[str]) -> str:
    """Clean HTML without these files: no pictures of them, no players and no links to them."""
    if not hidden:
        return html
    ids = "|".join(sorted(hidden))
    attribute = re.compile(rf'\s[\w-]+="[^"]*/(?:{ids})/[^"]*"')
    tag = re.compile(rf"<[^<>]*/(?:{ids})/[^<>]*>")

    def shown(found: re.Match[str]) -> str:
        return "" if _WHOLE.match(found[0]) else attribute.sub("", found[0])

    return tag.sub(shown, html)


def document_without_files(value: Any, hidden: Collection[str]) -> Any:
    """The editor's document without these files: nodes and marks that name one are left out, and so
    is an address by itself."""
    if isinstance(value, str):
        return "" if _names(value, hidden) else value
    if isinstance(value, list):
        return [document_without_files(each, hidden) for each in value if _stays(each, hidden)]
    if isinstance(value, dict):
        return {name: document_without_files(each, hidden) for name, each in value.items()}
    return value


def _stays(part: Any, hidden: Collection[str]) -> bool:
    attributes = part.get("attrs") if isinstance(part, dict) else None
    if not isinstance(attributes, dict):
        return True
    return not any(_names(each, hidden) for each in attributes.values() if isinstance(each, str))


def _names(text: str, hidden: Collection[str]) -> bool:
    return not named_files([text]).isdisjoint(hidden)
