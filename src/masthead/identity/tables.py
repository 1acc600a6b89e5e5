"""Internal tables of sign-ins and of the codes for them."""

from __future__ import annotations

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, text

from masthead.storage import dialects
from masthead.storage.columns import belongs_to, texts
from masthead.storage.metadata import metadata

sign_ins = Table(
    "sign_ins",
    metadata,
    *texts("tenant_id", "id"),
    # One of the two: a deleted account leaves no sign-in behind.
    Column("member_id", dialects.Text(), nullable=True),
    Column("staff_id", dialects.Text(), nullable=True),
    # A digest of the account's token key: a new password ends all sign-ins before it.
    *texts("account_mark"),
    *texts("address", "user_agent", "created", "last_seen"),
    # When the person has last shown a password or a factor.
    Column("proved_at", dialects.Text(), nullable=False, server_default=text("''")),
    *texts("expires"),
    PrimaryKeyConstraint("tenant_id", "id"),
    belongs_to("blog_members", "member_id"),
    belongs_to("_superusers", "staff_id"),
    Index("ix_sign_ins__tenant_id_member_id", "tenant_id", "member_id"),
    Index("ix_sign_ins__tenant_id_staff_id", "tenant_id", "staff_id"),
    Index("ix_sign_ins__expires", "expires"),
)

sign_in_codes = Table(
    "sign_in_codes",
    metadata,
    *texts("tenant_id"),
    # What the form or the client sends with the code; several codes of an address may share one.
    *texts("code_id"),
    *texts("code_hash"),
    # The address that the code was sent to.
    *texts("email"),
    # One of the two: the link in the same email to a reader, or the account of staff with a digest
    # of its token key.
    Column("link_hash", dialects.Text(), nullable=True),
    Column("staff_id", dialects.Text(), nullable=True),
    *texts("account_mark", "expires"),
    PrimaryKeyConstraint("tenant_id", "code_id", "code_hash"),
    belongs_to("member_links", "link_hash", "token_hash"),
    belongs_to("_superusers", "staff_id"),
    Index("ix_sign_in_codes__code_id", "code_id"),
    Index("ix_sign_in_codes__tenant_id_link_hash", "tenant_id", "link_hash"),
    Index("ix_sign_in_codes__tenant_id_staff_id", "tenant_id", "staff_id"),
    Index("ix_sign_in_codes__expires", "expires"),
)
