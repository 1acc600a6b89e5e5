"""Tags that are being renamed, merged or removed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    op.create_table(
        "tag_changes",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        _text("tag"),
        _text("new_tag"),
        _number("total"),
        _text("created"),
        _text("updated"),
        _number("version"),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_tag_changes__tenant_id")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_tag_changes")),
    )
    op.create_index(op.f("ix_tag_changes__id"), "tag_changes", ["id"])
    op.create_index(
        op.f("ix_tag_changes__tenant_id_created_id"), "tag_changes", ["tenant_id", "created", "id"]
    )
    op.create_index(
        op.f("ix_tag_changes__tenant_id_tag"), "tag_changes", ["tenant_id", "tag"], unique=True
    )
    share("tag_changes", "tenant_id")


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, types.Text(), server_default=sa.text("''"), nullable=False)


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, types.Integer(), server_default=sa.text("0"), nullable=False)
