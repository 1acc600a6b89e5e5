"""Gift cards may be memberships: for a tier and some months, bought, mailed and redeemed.

Not rolling: an older process could not delete a member who has redeemed one.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.dialects import not_empty

revision = "0081"
down_revision = "0080"

_TEXTS = ("buyer_email", "send_on", "sent_at", "redeemed_at", "voided_at", "payment_id")
_RELATIONS = (("tier_id", "tiers"), ("redeemed_by", "blog_members"))


def _before() -> sa.Table:
    """The table as it was, because a copy by reflection writes its defaults in another way."""
    return sa.Table(
        "gift_cards",
        sa.MetaData(),
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        _text("code"),
        _number("amount"),
        _text("currency"),
        _text("email"),
        sa.Column("redeemed", types.Flag(), server_default=sa.text("false"), nullable=False),
        _text("created"),
        _text("updated"),
        _number("version"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_gift_cards")),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenants.id"], name=op.f("fk_gift_cards__tenant_id")
        ),
        sa.Index(op.f("ix_gift_cards__id"), "id"),
        sa.Index(op.f("ix_gift_cards__tenant_id_code"), "tenant_id", "code", unique=True),
        sa.Index(op.f("ix_gift_cards__tenant_id_created_id"), "tenant_id", "created", "id"),
        sa.Index(
            op.f("ix_gift_cards__tenant_id_email_created_id"), "tenant_id", "email", "created", "id"
        ),
    )


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, types.Text(), server_default=sa.text("''"), nullable=False)


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, types.Integer(), server_default=sa.text("0"), nullable=False)


def upgrade() -> None:
    # SQLite can't add a foreign key of two columns to a table: it is made again.
    with op.batch_alter_table("gift_cards", copy_from=_before()) as table:
        table.add_column(
            sa.Column("kind", types.Text(), server_default=sa.text("'amount'"), nullable=False)
        )
        table.add_column(_number("months"))
        for name in _TEXTS:
            table.add_column(_text(name))
        for name, target in _RELATIONS:
            table.add_column(sa.Column(name, types.Text(), nullable=True))
            table.create_foreign_key(
                op.f(f"fk_gift_cards__tenant_id_{name}"),
                target,
                ["tenant_id", name],
                ["tenant_id", "id"],
            )
    for name, _ in _RELATIONS:
        op.create_index(f"ix_gift_cards__tenant_id_{name}", "gift_cards", ["tenant_id", name])
    for name in ("buyer_email", "payment_id"):
        op.create_index(
            f"ix_gift_cards__tenant_id_{name}",
            "gift_cards",
            ["tenant_id", name],
            sqlite_where=not_empty(sa.column(name)),
            postgresql_where=not_empty(sa.column(name)),
        )
