"""Texts in Arabic letters are indexed again: the forms of a letter that people write for each other
are one letter in the index now. Not rolling: an indexer of the older version would not know it."""

from __future__ import annotations

from alembic import op

revision = "0093"
down_revision = "0092"

_SEARCHED = {
    "blog_members": ("name",),
    "comments": ("author_name", "body"),
    "media": ("filename", "alt", "caption"),
    "pages": ("title", "content_html"),
    "posts": ("title", "excerpt", "tags", "content_html"),
}
_ARABIC = "[\u0621-\u064a\u0671]"


def upgrade() -> None:
    is_postgresql = op.get_context().dialect.name == "postgresql"
    test = f"~ '{_ARABIC}'" if is_postgresql else f"GLOB '*{_ARABIC}*'"
    for collection, fields in _SEARCHED.items():
        found = " OR ".join(f"CAST({name} AS TEXT) {test}" for name in fields)
        op.execute(
            "INSERT INTO search_queue (tenant_id, collection, record_id, version) "  # noqa: S608
            f"SELECT tenant_id, '{collection}', id, 0 FROM {collection} WHERE {found} "
            "ON CONFLICT DO NOTHING"
        )
