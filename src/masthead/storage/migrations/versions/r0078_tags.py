"""Tags have records, with a description. The posts name them as before.

The stored totals say which tags posts have. An archive of one site has no totals, so its posts are
read. The worker adds the slugs, because SQL can't make them. Not rolling: a post that an older
process writes could name a tag without a record.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from masthead.base import clock
from masthead.storage import dialects as types
from masthead.storage.migrations.operations import share

revision = "0078"
down_revision = "0077"

_OF_POSTS = "collection = 'posts' AND counter = 'each tags,status' AND total > 0"
_FROM_TOTALS = {
    "sqlite": f"""
INSERT INTO tags (tenant_id, id, name, created, updated, version)
SELECT tenant_id, lower(substr(hex(randomblob(8)), 1, 15)), name, '%s', '%s', 1 FROM (
    SELECT DISTINCT tenant_id, substr(bucket, 1, instr(bucket, char(31)) - 1) AS name
    FROM record_counts WHERE {_OF_POSTS}
) WHERE name <> ''
""",  # noqa: S608 - of constants
    "postgresql": f"""
INSERT INTO tags (tenant_id, id, name, created, updated, version)
SELECT tenant_id, substr(md5(random()\\:\\:text || name), 1, 15), name, '%s', '%s', 1 FROM (
    SELECT DISTINCT tenant_id, split_part(bucket, chr(31), 1) AS name
    FROM record_counts WHERE {_OF_POSTS}
) AS named WHERE name <> ''
""",  # noqa: S608 - of constants
}
_FROM_POSTS = """
INSERT INTO tags (tenant_id, id, name, created, updated, version)
SELECT tenant_id, lower(substr(hex(randomblob(8)), 1, 15)), name, '%s', '%s', 1 FROM (
    SELECT DISTINCT posts.tenant_id, items.value AS name
    FROM posts, json_each(posts.tags) AS items
    WHERE NOT EXISTS (SELECT 1 FROM record_counts WHERE collection = 'posts')
) WHERE name <> ''
"""
_COUNT = """
INSERT INTO record_counts (tenant_id, collection, counter, bucket, total)
SELECT tenant_id, 'tags', '', '', COUNT(*) FROM tags GROUP BY tenant_id
"""

_tenants = sa.table("tenants", sa.column("id"))
_tags = sa.table("tags", sa.column("tenant_id"))
_jobs = sa.table(
    "jobs",
    *(sa.column(name) for name in ("tenant_id", "id", "kind", "payload", "run_at", "created")),
)


def upgrade() -> None:
    op.create_table(
        "tags",
        sa.Column("tenant_id", types.Text(), nullable=False),
        sa.Column("id", types.Text(), nullable=False),
        sa.Column("name", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("slug", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("description", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("created", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("updated", types.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("version", types.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_tags__tenant_id")),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=op.f("pk_tags")),
    )
    op.create_index(op.f("ix_tags__id"), "tags", ["id"])
    op.create_index(op.f("ix_tags__tenant_id_created_id"), "tags", ["tenant_id", "created", "id"])
    op.create_index(op.f("ix_tags__tenant_id_name"), "tags", ["tenant_id", "name"], unique=True)
    op.create_index(op.f("ix_tags__tenant_id_slug"), "tags", ["tenant_id", "slug"])
    share("tags", "tenant_id")
    now = clock.to_text(clock.now())
    dialect = op.get_context().dialect.name
    at = now.replace(":", "\\:")
    op.execute(_FROM_TOTALS[dialect] % (at, at))
    if dialect == "sqlite":
        op.execute(_FROM_POSTS % (at, at))
    op.execute(_COUNT)
    op.execute(_make_slugs(now))


def _make_slugs(now: str) -> sa.Insert:
    """A job for each tenant with tags."""
    values: list[sa.ColumnElement[Any]] = [
        sa.literal_column(f"'{each}'")
        for each in ("makeslugsoftags", "tags.make_slugs", "{}", now, now)
    ]
    has_tags = _tenants.c.id.in_(sa.select(_tags.c.tenant_id))
    chosen = sa.select(_tenants.c.id, *values).where(has_tags)
    return _jobs.insert().from_select(list(_jobs.c.keys()), chosen)
