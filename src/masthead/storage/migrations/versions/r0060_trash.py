"""The trash: deleted posts, pages and files that can be restored."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0060"
down_revision = "0059"


def upgrade() -> None:
    op.create_table(
        "trash",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        sa.Column("type", types.Text(), server_default=sa.text("'posts'"), nullable=False),
        sa.Column("record_id", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("title", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("slug", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("owners", types.Json(), server_default=sa.text("'[]'"), nullable=False),
        sa.Column("deleted_by", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("deleted_at", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("expires_at", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("files", types.Json(), server_default=sa.text("'[]'"), nullable=False),
        sa.Column("links", types.Json(), nullable=True),
        sa.Column("created", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("updated", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("version", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_trash__tenant_id")),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_trash")),
    )
    op.create_index(
        op.f("ix_trash__expires_at"),
        "trash",
        ["expires_at"],
        unique=False,
        sqlite_where=sa.text("expires_at != ''"),
        postgresql_where=sa.text("expires_at != ''"),
    )
    op.create_index(op.f("ix_trash__id"), "trash", ["id"], unique=False)
    op.create_index(
        op.f("ix_trash__tenant_id_created_id"),
        "trash",
        ["tenant_id", "created", "id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_trash__tenant_id_record_id"),
        "trash",
        ["tenant_id", "record_id"],
        unique=False,
        sqlite_where=None,
    )
    op.create_index(
        op.f("ix_trash__tenant_id_type_created_id"),
        "trash",
        ["tenant_id", "type", "created", "id"],
        unique=False,
        sqlite_where=None,
    )
    op.create_table(
        "trash_items",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        sa.Column("entry_id", types.Text(), nullable=False),
        sa.Column("type", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("record_id", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("email", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("member_id", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("document", types.Json(), nullable=True),
        sa.Column("created", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("updated", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("version", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "entry_id"],
            ["trash.tenant_id", "trash.id"],
            name=op.f("fk_trash_items__tenant_id_entry_id"),
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_trash_items__tenant_id")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_trash_items")),
    )
    op.create_index(op.f("ix_trash_items__id"), "trash_items", ["id"], unique=False)
    op.create_index(
        op.f("ix_trash_items__tenant_id_created_id"),
        "trash_items",
        ["tenant_id", "created", "id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_trash_items__tenant_id_email"),
        "trash_items",
        ["tenant_id", "email"],
        unique=False,
        sqlite_where=sa.text("email != ''"),
        postgresql_where=sa.text("email != ''"),
    )
    op.create_index(
        op.f("ix_trash_items__tenant_id_entry_id"),
        "trash_items",
        ["tenant_id", "entry_id"],
        unique=False,
        sqlite_where=None,
    )
    op.create_index(
        op.f("ix_trash_items__tenant_id_member_id"),
        "trash_items",
        ["tenant_id", "member_id"],
        unique=False,
        sqlite_where=sa.text("member_id != ''"),
        postgresql_where=sa.text("member_id != ''"),
    )
    share("trash", "tenant_id")
    share("trash_items", "tenant_id")
