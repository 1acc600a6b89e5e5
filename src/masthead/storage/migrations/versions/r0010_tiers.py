"""Sites sell tiers; a subscription has its price, and when it ends."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.create_table(
        "tiers",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        sa.Column("name", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("price", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("currency", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("interval", types.Text(), server_default=sa.text("'month'"), nullable=False),
        sa.Column("benefits", types.Json(), server_default=sa.text("'[]'"), nullable=False),
        sa.Column("position", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("active", types.Flag(), server_default=sa.text("false"), nullable=False),
        sa.Column("payment_url", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("payment_price_id", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("created", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("updated", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("version", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_tiers__tenant_id")),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_tiers")),
    )
    op.create_index(op.f("ix_tiers__id"), "tiers", ["id"], unique=False)
    op.create_index(
        op.f("ix_tiers__tenant_id_created_id"),
        "tiers",
        ["tenant_id", "created", "id"],
        unique=False,
    )
    op.add_column(
        "payment_subscriptions",
        sa.Column("payment_price_id", types.Text(), server_default=sa.text("''"), nullable=False),
    )
    op.add_column(
        "payment_subscriptions",
        sa.Column("ends_at", types.Text(), server_default=sa.text("''"), nullable=False),
    )
    share("tiers", "tenant_id")
