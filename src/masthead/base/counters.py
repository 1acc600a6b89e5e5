"""Counts of this process in plain numbers: `/metrics` shows them.

A count is an addition in a dictionary, so it happens whether anybody looks at it or not.
"""

from __future__ import annotations

from collections.abc import Sequence


class Counter:
    """A number that only grows, for each combination of its labels."""

    __slots__ = ("help", "labels", "name", "values")

    def __init__(
        self,
        name: str,
        help_text: str,
        labels: Sequence[str],
        begins_with: Sequence[tuple[str, ...]] = (),
    ) -> None:
        """Those that it `begins_with` are shown before anything was counted: a rate can only be
        taken of a number that was there before."""
        self.name = name
        self.help = help_text
        self.labels = tuple(labels)
        self.values: dict[tuple[str, ...], int] = dict.fromkeys(begins_with, 0)

    def add(self, *labels: str, count: int = 1) -> None:
        self.values[labels] = self.values.get(labels, 0) + count


class CacheCounts:
    """Reads of a cache, which are counted in the path of a request, and its bytes."""

    __slots__ = ("bytes", "hits", "max_bytes", "misses")

    def __init__(self, max_bytes: int) -> None:
        self.hits = 0
        self.misses = 0
        self.bytes = 0
        self.max_bytes = max_bytes


DELIVERED, FAILED, DEAD = "delivered", "failed", "dead"
SENT, DONE = "sent", "done"
ACCOUNT, NEWSLETTER = "account", "newsletter"

DELIVERIES = Counter(
    "masthead_deliveries",
    "Attempts to deliver webhooks. failed: another attempt follows; dead: none does.",
    ("result",),
    ((DELIVERED,), (FAILED,), (DEAD,)),
)
MAILS = Counter(
    "masthead_mails",
    "Emails, and newsletters to one member each, that were handed to the mail server, or not.",
    ("kind", "result"),
    tuple((kind, result) for kind in (ACCOUNT, NEWSLETTER) for result in (SENT, FAILED)),
)
IMPORTS = Counter(
    "masthead_imports",
    "Previews, imports, undos and repeated pictures that the worker has ended.",
    ("task", "result"),
    tuple((task, result) for task in ("preview", "import") for result in (DONE, FAILED)),
)
JOBS = Counter(
    "masthead_jobs",
    "Attempts of the background worker at jobs. failed: another attempt may follow.",
    ("kind", "result"),
)
BACKUPS = Counter(
    "masthead_backups",
    "Backups that the worker has made by itself, or could not make.",
    ("result",),
    ((DONE,), (FAILED,)),
)
BODIES_REFUSED = Counter(
    "masthead_bodies_refused",
    "Request bodies that came too slowly, or that were too many or too large together.",
    ("reason",),
    (("slow",), ("network",), ("process",)),
)
COUNTERS = (DELIVERIES, MAILS, IMPORTS, JOBS, BACKUPS, BODIES_REFUSED)

_MEBIBYTE = 1024 * 1024
CACHES: dict[str, CacheCounts] = {
    "site": CacheCounts(32 * _MEBIBYTE),
    "v1": CacheCounts(32 * _MEBIBYTE),
    "records": CacheCounts(16 * _MEBIBYTE),
    "compressed": CacheCounts(16 * _MEBIBYTE),
    "code": CacheCounts(16 * _MEBIBYTE),
    "queries": CacheCounts(16 * _MEBIBYTE),
    "tenants": CacheCounts(32 * _MEBIBYTE),
    "settings": CacheCounts(16 * _MEBIBYTE),
    "keys": CacheCounts(16 * _MEBIBYTE),
    "sessions": CacheCounts(16 * _MEBIBYTE),
}
"""Finished answers by face (of the record store only those to guests), compressed answers, code
blocks with their colours, prepared queries, tenants by address, sites' settings, API keys and
verified sessions."""
