"""Tables of the numbers of sites.

The counts say nothing about a person. Those that recognise one, `day_salts` and `day_readers`, are
deleted after their day: see `retention.py`.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, text

from masthead.storage import dialects
from masthead.storage.columns import integers, texts
from masthead.storage.metadata import metadata

COUNT_KEY: Final = ("tenant_id", "kind", "day", "subject")

view_counts = Table(
    "view_counts",
    metadata,
    *texts("tenant_id"),
    # 'site', 'post', 'page', 'list' or 'source'.
    *texts("kind"),
    # UTC, as 2026-11-14. The first of a month has the whole month once its days were added up.
    *texts("day"),
    # The id of the post or page, the kind of list, or the name of the source; '' for the site.
    *texts("subject"),
    *integers("views"),
    Column("readers", dialects.Integer(), nullable=False, server_default=text("0")),
    PrimaryKeyConstraint(*COUNT_KEY),
    Index("ix_view_counts__day", "day"),
)

SALT_KEY: Final = ("tenant_id", "day")

# The secret of a site's day, which all processes share.
day_salts = Table(
    "day_salts",
    metadata,
    *texts("tenant_id", "day", "salt"),
    PrimaryKeyConstraint(*SALT_KEY),
)

READER_KEY: Final = ("tenant_id", "day", "reader", "subject")

# What each reader of a day has been counted for.
day_readers = Table(
    "day_readers",
    metadata,
    *texts("tenant_id", "day"),
    # A hash with the salt of the day.
    *texts("reader"),
    # Kind and subject of `view_counts`.
    *texts("subject"),
    PrimaryKeyConstraint(*READER_KEY),
    sqlite_with_rowid=False,
)
