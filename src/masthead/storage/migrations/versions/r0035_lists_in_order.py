"""Orders and gift cards of a person, and comments of a post in a state, are read in their order."""

from __future__ import annotations

from alembic import op

revision = "0035"
down_revision = "0034"

_CHANGED = (
    ("orders", ("email",), ("email", "created", "id")),
    ("orders", ("member_id",), ("member_id", "created", "id")),
    ("gift_cards", ("email",), ("email", "created", "id")),
    ("comments", ("post_id", "created", "id"), ("post_id", "created", "id", "status")),
)


def upgrade() -> None:
    for table, old, new in _CHANGED:
        op.drop_index(_name(table, old), table_name=table)
        op.create_index(_name(table, new), table, ["tenant_id", *new])


def _name(table: str, columns: tuple[str, ...]) -> str:
    return f"ix_{table}__{'_'.join(('tenant_id', *columns))}"
