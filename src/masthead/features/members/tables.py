"""Internal tables of the links that members get by email."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import Column, ForeignKeyConstraint, Index, PrimaryKeyConstraint, Table

from masthead.storage import dialects
from masthead.storage.metadata import metadata

email_changes = Table(
    "email_changes",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    Column("id", dialects.Text(), nullable=False),
    Column("member_id", dialects.Text(), nullable=False),
    Column("new_email", dialects.Text(), nullable=False),
    # '' after a newer request: the row then only counts towards the limits.
    Column("token_hash", dialects.Text(), nullable=False),
    # A digest of the account's token key: a new password invalidates older links.
    Column("account_mark", dialects.Text(), nullable=False),
    Column("created", dialects.Text(), nullable=False),
    PrimaryKeyConstraint("tenant_id", "id"),
    ForeignKeyConstraint(
        ["tenant_id", "member_id"],
        ["blog_members.tenant_id", "blog_members.id"],
        ondelete="CASCADE",
    ),
    Index("ix_email_changes__tenant_id_token_hash", "tenant_id", "token_hash"),
    Index("ix_email_changes__tenant_id_member_id", "tenant_id", "member_id"),
    Index("ix_email_changes__tenant_id_new_email", "tenant_id", "new_email"),
    Index("ix_email_changes__created", "created"),
)

member_links = Table(
    "member_links",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    Column("token_hash", dialects.Text(), nullable=False),
    Column("purpose", dialects.Text(), nullable=False),
    Column("email", dialects.Text(), nullable=False),
    # Of a sign-in: the account, and a digest of its token key. A new password ends older links.
    Column("member_id", dialects.Text(), nullable=True),
    Column("account_mark", dialects.Text(), nullable=False),
    # Of a sign-up: whether the reader wants the newsletter.
    Column("newsletter", dialects.Flag(), nullable=False),
    # And which ones, by slug with commas between; '' where the reader was not asked.
    Column("newsletters", dialects.Text(), nullable=False, server_default=sa.text("''")),
    # Of a sign-up through the record store: the member's id to be, name and password; encrypted.
    Column("details", dialects.Text(), nullable=False, server_default=sa.text("''")),
    # Where the reader came from, and is brought back to.
    Column("back", dialects.Text(), nullable=False),
    Column("expires", dialects.Text(), nullable=False),
    PrimaryKeyConstraint("tenant_id", "token_hash"),
    ForeignKeyConstraint(
        ["tenant_id", "member_id"],
        ["blog_members.tenant_id", "blog_members.id"],
        ondelete="CASCADE",
    ),
    Index("ix_member_links__tenant_id_member_id", "tenant_id", "member_id"),
    Index("ix_member_links__tenant_id_email", "tenant_id", "email"),
    Index("ix_member_links__expires", "expires"),
)
