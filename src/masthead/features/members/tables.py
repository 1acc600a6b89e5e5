"""Internal tables of the links that members get by email."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table

from masthead.storage import dialects
from masthead.storage.columns import belongs_to, texts
from masthead.storage.metadata import metadata

email_changes = Table(
    "email_changes",
    metadata,
    *texts("tenant_id", "id", "member_id", "new_email"),
    # '' after a newer request: the row then only counts towards the limits.
    *texts("token_hash"),
    # A digest of the account's token key: a new password invalidates older links.
    *texts("account_mark"),
    *texts("created"),
    PrimaryKeyConstraint("tenant_id", "id"),
    belongs_to("blog_members", "member_id"),
    Index("ix_email_changes__tenant_id_token_hash", "tenant_id", "token_hash"),
    Index("ix_email_changes__tenant_id_member_id", "tenant_id", "member_id"),
    Index("ix_email_changes__tenant_id_new_email", "tenant_id", "new_email"),
    Index("ix_email_changes__created", "created"),
)

member_links = Table(
    "member_links",
    metadata,
    *texts("tenant_id", "token_hash", "purpose", "email"),
    # Of a sign-in: the account, and a digest of its token key. A new password ends older links.
    Column("member_id", dialects.Text(), nullable=True),
    *texts("account_mark"),
    # Of a sign-up: whether the reader wants the newsletter.
    Column("newsletter", dialects.Flag(), nullable=False),
    # And which ones, by slug with commas between; '' where the reader was not asked.
    Column("newsletters", dialects.Text(), nullable=False, server_default=sa.text("''")),
    # Of a sign-up through the record store: the member's id to be, name and password; encrypted.
    Column("details", dialects.Text(), nullable=False, server_default=sa.text("''")),
    # Where the reader came from, and is brought back to.
    *texts("back"),
    *texts("expires"),
    PrimaryKeyConstraint("tenant_id", "token_hash"),
    belongs_to("blog_members", "member_id"),
    Index("ix_member_links__tenant_id_member_id", "tenant_id", "member_id"),
    Index("ix_member_links__tenant_id_email", "tenant_id", "email"),
    Index("ix_member_links__expires", "expires"),
)
