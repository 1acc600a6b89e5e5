"""Texts have earlier states and working copies, and posts a time at which they are published."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("posts", _text("scheduled_for"))
    for table in ("posts", "pages"):
        op.add_column(table, _text("revised_at"))
        op.add_column(table, _text("edited_by"))
    for singular in ("post", "page"):
        _create_copies(f"{singular}_revisions", singular, "status", "saved_at", "saved_by")
        op.create_index(
            op.f(f"ix_{singular}_revisions__tenant_id_{singular}_id_created_id"),
            f"{singular}_revisions",
            ["tenant_id", f"{singular}_id", "created", "id"],
        )
        copies = f"{singular}_working_copies"
        _create_copies(copies, singular, "edited_by")
        op.add_column(copies, _number("base_version"))
        op.create_index(
            op.f(f"ix_{copies}__tenant_id_{singular}_id"),
            copies,
            ["tenant_id", f"{singular}_id"],
            unique=True,
        )


def _create_copies(table: str, singular: str, *more: str) -> None:
    op.create_table(
        table,
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        sa.Column(f"{singular}_id", types.Text(), nullable=False),
        *(_text(name) for name in ("title", "slug", "content_html")),
        sa.Column("content_json", types.Json(), nullable=True),
        _text("content_source", "html"),
        *(_only_in_posts() if singular == "post" else ()),
        *(_text(name) for name in (*more, "created", "updated")),
        _number("version"),
        sa.ForeignKeyConstraint(
            ["tenant_id", f"{singular}_id"],
            [f"{singular}s.tenant_id", f"{singular}s.id"],
            name=op.f(f"fk_{table}__tenant_id_{singular}_id"),
        ),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f(f"fk_{table}__tenant_id")),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f(f"pk_{table}")),
    )
    op.create_index(op.f(f"ix_{table}__id"), table, ["id"])
    op.create_index(
        op.f(f"ix_{table}__tenant_id_created_id"), table, ["tenant_id", "created", "id"]
    )
    share(table, "tenant_id")


def _only_in_posts() -> list[sa.Column[Any]]:
    return [
        _text("visibility", "public"),
        *(_text(name) for name in ("excerpt", "featured_image", "seo_title", "seo_description")),
        *(
            sa.Column(name, types.Json(), server_default=sa.text("'[]'"), nullable=False)
            for name in ("tags", "authors")
        ),
    ]


def _text(name: str, default: str = "") -> sa.Column[str]:
    return sa.Column(name, types.Text(), server_default=sa.text(f"'{default}'"), nullable=False)


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, types.Integer(), server_default=sa.text("0"), nullable=False)
