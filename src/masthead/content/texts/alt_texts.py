"""Alternative texts that a text gives to pictures of the media library, for which the library is
told of them by a job."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from itertools import islice
from typing import Final

from masthead.engine.records.changes import Change, Later
from masthead.engine.records.collection import Record

LEARN_ALTS_JOB: Final = "media.learn_alts"
_ADDRESS: Final = re.compile(r"/media/([a-z0-9]{15})/")
_ALT: Final = re.compile(r"""\salt=(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_MOST_PICTURES: Final = 200
_LONGEST_TAG: Final = 4_000
MAX_ALT: Final = 1_000


def alt_jobs(collection: str, change: Change) -> Iterator[Later]:
    """None unless an alternative text has changed: a text is saved every few seconds."""
    if change.new is None or (change.old and change.old["content_html"] == _html(change.new)):
        return
    before, after = alts_in(change.old), alts_in(change.new)
    changed = {item: before.get(item, "") for item, alt in after.items() if before.get(item) != alt}
    if changed:
        payload = {"collection": collection, "id": change.record["id"], "before": changed}
        yield Later(LEARN_ALTS_JOB, payload)


def alts_in(record: Record | None) -> dict[str, str]:
    """Alternative texts by the id of the picture. The time it takes is bounded, whatever the text
    is."""
    text = _html(record) if record else ""
    found: dict[str, str] = {}
    if "/media/" not in text:  # which is much quicker to see
        return found
    for match in islice(_ADDRESS.finditer(text), _MOST_PICTURES):
        at = match.start()
        start = text.rfind("<", max(at - _LONGEST_TAG, 0), at)
        if start < 0 or text[start : start + 5].lower() != "<img ":
            continue
        end = text.find(">", at, at + _LONGEST_TAG)
        alt = _ALT.search(text, start, end) if end > 0 else None
        words = unescape(alt[1] or alt[2] or "").strip() if alt else ""
        if words and len(words) <= MAX_ALT:
            found.setdefault(match[1], words)
    return found


def _html(record: Record) -> str:
    return str(record["content_html"])
