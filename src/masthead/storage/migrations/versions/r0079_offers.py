"""Offers, and with which of them a subscription was bought."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0079"
down_revision = "0078"
rolling = True


def upgrade() -> None:
    op.create_table(
        "offers",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        sa.Column("code", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("tier", types.Text(), nullable=False),
        sa.Column("kind", types.Text(), server_default=sa.text("'percent'"), nullable=False),
        sa.Column("value", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("months", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("ends_at", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("max_uses", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("uses", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("active", types.Flag(), server_default=sa.text("false"), nullable=False),
        sa.Column("coupon_id", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("created", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("updated", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("version", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "tier"],
            ["tiers.tenant_id", "tiers.id"],
            name=op.f("fk_offers__tenant_id_tier"),
        ),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_offers__tenant_id")),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_offers")),
    )
    op.create_index(op.f("ix_offers__id"), "offers", ["id"], unique=False)
    op.create_index(
        op.f("ix_offers__tenant_id_code"),
        "offers",
        ["tenant_id", "code"],
        unique=True,
    )
    op.create_index(
        op.f("ix_offers__tenant_id_created_id"),
        "offers",
        ["tenant_id", "created", "id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_offers__tenant_id_tier"),
        "offers",
        ["tenant_id", "tier"],
        unique=False,
    )
    op.add_column(
        "payment_subscriptions",
        sa.Column("offer_id", types.Text(), server_default=sa.text("''"), nullable=False),
    )
    share("offers", "tenant_id")
