"""Contents of an archive of one site: every table with a tenant, or the reason why it is left out.

A collection is moved unless it is in `LEFT_OUT`. The tables that hold no records are moved if they
are in `MOVED`, with the columns that hold ids. A table that is in neither stops the export, and a
test, so that a new one can't be forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
import sqlalchemy as sa

from masthead.base import ids
from masthead.engine.records.collection import Collection
from masthead.engine.records.registry import Registry
from masthead.storage.metadata import all_tables

TENANT: Final = "tenant_id"

LEFT_OUT: Final[Mapping[str, str]] = {
    "api_keys": "Keys are made for one installation.",
    "webhook_deliveries": "The old installation sends what it has queued.",
    "webhook_attempts": "The log of those deliveries.",
    "webhook_lanes": "The queue of those deliveries.",
    "webhook_leases": "The queue of those deliveries.",
    "webhook_retries": "The queue of those deliveries.",
    "events": "They have happened, and subscribers have been told.",
    "realtime_requests": "Clients connect again.",
    "record_changes": "They have happened, and realtime clients have been told.",
    "jobs": "The old installation does what it has queued. Those of scheduled posts, deletions of "
    "members and changes of tags are made again.",
    "mails": "The old installation sends what it has queued. How emails ended is in `member_mails` "
    "and `mailing_recipients`.",
    "site_exports": "Files that are deleted after a week, and can be made again.",
    "trash": "What was deleted stays behind, and is deleted for good there.",
    "trash_items": "The records of the trash.",
    "undo_steps": "They can undo a change for an hour.",
    "related_posts": "Made again of the posts.",
    "related_marks": "How far that is.",
    "draft_links": "Links of the old address, which end within a month.",
    "sign_ins": "Sessions end: they are signed with the installation's secret.",
    "day_salts": "They belong to the readers of a day.",
    "day_readers": "Deleted after the day. Nobody recognises readers at another address.",
    "member_links": "Links in emails, which expire within a day.",
    "sign_in_codes": "Codes in emails, which expire within a quarter of an hour.",
    "email_changes": "Links in emails, which expire within a day.",
    "login_attempts": "Forgotten within an hour.",
    "mail_report_tokens": "Reports of bounces to the installation, for two days.",
    "rate_limit_counters": "Forgotten within a day.",
    "remembered_answers": "For repeats of the same request, within a day.",
    "request_errors": "Errors of the installation, not of the site.",
    "record_counts": "Counted again from the records.",
    "listed_values": "Made again from the records.",
    "search_documents": "Made again from the records.",
    "search_queue": "Made again from the records.",
    "tenant_states": "The new site begins its own.",
}

MOVED: Final[Mapping[str, tuple[str, ...]]] = {
    "ai_usage": (),
    "daily_counts": ("subject",),
    "import_items": ("record_id", "run_id"),
    "mailing_recipients": ("mailing_id", "member_id"),
    "payment_inbox": (),
    "payment_refunds": (),
    "payment_refusals": (),
    "payment_reports": (),
    "view_counts": ("subject",),
}
"""Tables without records, each with its columns of ids. In `daily_counts` an id that is no record
of the site is that of an API key; `view_counts` has names of sources and lists, too."""


class ForgottenTable(Exception):
    """A table with a tenant is neither moved nor left out with a reason."""


class MovedTable(msgspec.Struct, frozen=True):
    table: sa.Table
    collection: Collection | None
    """None: its rows are no records."""

    @property
    def name(self) -> str:
        return str(self.table.name)


def moved_tables(registry: Registry) -> list[MovedTable]:
    """In the order in which rows can be inserted: targets of relations come first."""
    owned = [each for each in all_tables().sorted_tables if TENANT in each.c]
    forgotten = [
        each.name
        for each in owned
        if registry.find(each.name) is None and each.name not in {*MOVED, *LEFT_OUT}
    ]
    if forgotten:
        raise ForgottenTable(", ".join(forgotten))
    return [
        MovedTable(each, registry.find(each.name)) for each in owned if each.name not in LEFT_OUT
    ]


def rows_of(table: sa.Table, tenant_id: str) -> sa.ColumnElement[bool]:
    """The condition for the rows of a site, without a parameter."""
    assert ids.is_id(tenant_id)
    mine: sa.ColumnElement[bool] = table.c[TENANT] == sa.literal_column(f"'{tenant_id}'")
    return mine
