"""Internal tables of posts: which ones are related, and how far that is worked out."""

from __future__ import annotations

from sqlalchemy import PrimaryKeyConstraint, Table

from masthead.storage.columns import integers, texts
from masthead.storage.metadata import metadata

related_posts = Table(
    "related_posts",
    metadata,
    # No reference to the post: its row stays while it is in the trash.
    *texts("tenant_id", "post_id"),
    # JSON: pairs of a post's id and how near it is, the nearest first.
    *texts("related"),
    PrimaryKeyConstraint("tenant_id", "post_id"),
)

related_marks = Table(
    "related_marks",
    metadata,
    *texts("tenant_id"),
    # The tenant's version up to which its posts were looked at.
    *integers("version"),
    # The place of the last of them in the order of `updated`.
    *texts("updated", "post_id"),
    PrimaryKeyConstraint("tenant_id"),
)
