"""A log has the actions of staff and operators."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0019"
down_revision = "0018"

_TEXTS = ("account_id", "email", "role", "address", "action", "subject", "record_id", "label")


def upgrade() -> None:
    op.create_table(
        "audit_log",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        *(_text(name) for name in _TEXTS),
        sa.Column("changed", types.Json(), server_default=sa.text("'[]'"), nullable=False),
        *(_text(name) for name in ("status", "created", "updated")),
        sa.Column("version", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_audit_log")),
    )
    for columns in (
        ("id",),
        ("created", "id"),
        ("tenant_id", "created", "id"),
        ("tenant_id", "account_id", "created", "id"),
        ("tenant_id", "subject", "created", "id"),
    ):
        op.create_index(op.f(f"ix_audit_log__{'_'.join(columns)}"), "audit_log", list(columns))
    share("audit_log", "tenant_id")


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, types.Text(), server_default=sa.text("''"), nullable=False)
