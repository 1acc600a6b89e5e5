"""Internal tables of sign-ins and of the codes for them."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKeyConstraint, Index, PrimaryKeyConstraint, Table, text

from masthead.storage import dialects
from masthead.storage.metadata import metadata

sign_ins = Table(
    "sign_ins",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    Column("id", dialects.Text(), nullable=False),
    # One of the two: a deleted account leaves no sign-in behind.
    Column("member_id", dialects.Text(), nullable=True),
    Column("staff_id", dialects.Text(), nullable=True),
    # A digest of the account's token key: a new password ends all sign-ins before it.
    Column("account_mark", dialects.Text(), nullable=False),
    Column("address", dialects.Text(), nullable=False),
    Column("user_agent", dialects.Text(), nullable=False),
    Column("created", dialects.Text(), nullable=False),
    Column("last_seen", dialects.Text(), nullable=False),
    # When the person has last shown a password or a factor.
    Column("proved_at", dialects.Text(), nullable=False, server_default=text("''")),
    Column("expires", dialects.Text(), nullable=False),
    PrimaryKeyConstraint("tenant_id", "id"),
    ForeignKeyConstraint(
        ["tenant_id", "member_id"],
        ["blog_members.tenant_id", "blog_members.id"],
        ondelete="CASCADE",
    ),
    ForeignKeyConstraint(
        ["tenant_id", "staff_id"],
        ["_superusers.tenant_id", "_superusers.id"],
        ondelete="CASCADE",
    ),
    Index("ix_sign_ins__tenant_id_member_id", "tenant_id", "member_id"),
    Index("ix_sign_ins__tenant_id_staff_id", "tenant_id", "staff_id"),
    Index("ix_sign_ins__expires", "expires"),
)

sign_in_codes = Table(
    "sign_in_codes",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    # What the form or the client sends with the code; several codes of an address may share one.
    Column("code_id", dialects.Text(), nullable=False),
    Column("code_hash", dialects.Text(), nullable=False),
    # The address that the code was sent to.
    Column("email", dialects.Text(), nullable=False),
    # One of the two: the link in the same email to a reader, or the account of staff with a digest
    # of its token key.
    Column("link_hash", dialects.Text(), nullable=True),
    Column("staff_id", dialects.Text(), nullable=True),
    Column("account_mark", dialects.Text(), nullable=False),
    Column("expires", dialects.Text(), nullable=False),
    PrimaryKeyConstraint("tenant_id", "code_id", "code_hash"),
    ForeignKeyConstraint(
        ["tenant_id", "link_hash"],
        ["member_links.tenant_id", "member_links.token_hash"],
        ondelete="CASCADE",
    ),
    ForeignKeyConstraint(
        ["tenant_id", "staff_id"],
        ["_superusers.tenant_id", "_superusers.id"],
        ondelete="CASCADE",
    ),
    Index("ix_sign_in_codes__code_id", "code_id"),
    Index("ix_sign_in_codes__tenant_id_link_hash", "tenant_id", "link_hash"),
    Index("ix_sign_in_codes__tenant_id_staff_id", "tenant_id", "staff_id"),
    Index("ix_sign_in_codes__expires", "expires"),
)
