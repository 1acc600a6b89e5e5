"""Fewer indexes for a new post and a new revision: partial ones hold the few drafts, the few posts
that are not for everyone, and the revisions that are thinned."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0092"
down_revision = "0091"
rolling = True

_REPLACED = (
    "tenant_id_created_id",
    "tenant_id_status_created_id",
    "tenant_id_updated_id",
    "tenant_id_status_updated_id",
    "tenant_id_visibility_updated_id",
)


def upgrade() -> None:
    for each in _REPLACED:
        op.drop_index(f"ix_posts__{each}", table_name="posts")
    _create("posts", ("created", "id", "status"))
    _create("posts", ("updated", "id", "status", "visibility"))
    unpublished = "status != 'published'"
    _create("posts", ("created", "id"), unpublished, name="ix_posts__drafts_created")
    _create("posts", ("updated", "id"), unpublished, name="ix_posts__drafts_updated")
    _create("posts", ("visibility", "updated", "id"), "visibility != 'public'")
    for singular in ("post", "page"):
        table = f"{singular}_revisions"
        op.drop_index(f"ix_{table}__tenant_id_{singular}_id_saved_at_status", table_name=table)
        _create(table, (f"{singular}_id", "saved_at"), unpublished)


def _create(table: str, fields: tuple[str, ...], where: str = "", *, name: str = "") -> None:
    columns = ("tenant_id", *fields)
    only = sa.text(where) if where else None
    op.create_index(
        name or f"ix_{table}__{'_'.join(columns)}",
        table,
        list(columns),
        sqlite_where=only,
        postgresql_where=only,
    )
