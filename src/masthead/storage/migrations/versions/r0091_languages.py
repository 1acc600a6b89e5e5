"""Sites have several languages; texts, members and mailings have one."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from masthead.storage import dialects as types

revision = "0091"
down_revision = "0090"
rolling = True

_WITH_LANGUAGE = (
    *("posts", "post_revisions", "post_working_copies"),
    *("pages", "page_revisions", "page_working_copies"),
    *("blog_members", "mailings"),
)


def upgrade() -> None:
    for table in _WITH_LANGUAGE:
        op.add_column(table, _text("language"))
    op.add_column("site_settings", _list("languages"))
    op.add_column("mailings", _list("without_languages"))
    for table in ("posts", "pages"):
        op.add_column(table, _text("edition"))
        op.create_index(
            f"ix_{table}__tenant_id_language_created_id",
            table,
            ["tenant_id", "language", "created", "id"],
            sqlite_where=sa.text("language != ''"),
            postgresql_where=sa.text("language != ''"),
        )


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, types.Text(), server_default=sa.text("''"), nullable=False)


def _list(name: str) -> sa.Column[str]:
    return sa.Column(name, types.Json(), server_default=sa.text("'[]'"), nullable=False)
