"""Private files in texts that guests read: what a guest gets does not name them, because they would
not open."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final

from masthead.caller import system
from masthead.ids import TenantId
from masthead.links.file_uses import named_files
from masthead.media.collection import media
from masthead.records.engine import Records

MAX_FILES: Final = 1_000
_WHOLE: Final = re.compile(r"<(?:img|source|track)\b", re.IGNORECASE)
"""Elements that are nothing without their file."""


async def private_files(
    records: Records, tenant_id: TenantId | None, texts: Iterable[str]
) -> frozenset[str]:
    """The ids of those files in the texts that are private."""
    ids = sorted(named_files(texts))[:MAX_FILES]
    if not ids:
        return frozenset()
    found = await records.find_related(
        system(tenant_id), media, "id", ids, limit=len(ids), names=frozenset({"id", "private"})
    )
    return frozenset(each["id"] for each in found if each["private"])


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
