"""Files that not everyone may open: media have a switch, and there are lists of the records through
which readers may open a file.

The worker adds what the openings of gated posts show, because SQL can't find their ends. Not
rolling: a post that an older process takes down would leave its files open.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from masthead.base import clock
from masthead.storage import dialects as types

revision = "0067"
down_revision = "0066"

_ON_THE_SITE = """
INSERT INTO listed_values (tenant_id, collection, field, value, created, record_id)
SELECT u.tenant_id, u.collection, 'files for everyone', u.value, u.created, u.record_id
FROM listed_values u WHERE u.field = 'uses of media'
AND u.collection IN ('_superusers', 'products', 'site_settings', 'welcome_emails')
"""
_PAGES = """
INSERT INTO listed_values (tenant_id, collection, field, value, created, record_id)
SELECT u.tenant_id, u.collection, CASE WHEN r.published_at <= r.updated
    THEN 'files for everyone' ELSE 'files for everyone later' END,
    u.value, r.published_at, u.record_id
FROM listed_values u JOIN pages r ON r.tenant_id = u.tenant_id AND r.id = u.record_id
WHERE u.field = 'uses of media' AND u.collection = 'pages' AND r.status = 'published'
"""
_POSTS = """
INSERT INTO listed_values (tenant_id, collection, field, value, created, record_id)
SELECT u.tenant_id, u.collection, CASE WHEN r.published_at <= r.updated
    THEN 'files for everyone' ELSE 'files for everyone later' END,
    u.value, r.published_at, u.record_id
FROM listed_values u JOIN posts r ON r.tenant_id = u.tenant_id AND r.id = u.record_id
WHERE u.field = 'uses of media' AND u.collection = 'posts' AND r.status = 'published'
AND r.visibility = 'public' AND NOT r.email_only
"""
_GATED = """
INSERT INTO listed_values (tenant_id, collection, field, value, created, record_id)
SELECT u.tenant_id, u.collection, CASE WHEN r.visibility = 'members'
    THEN 'files for members' ELSE 'files for paid members' END,
    u.value, r.published_at, u.record_id
FROM listed_values u JOIN posts r ON r.tenant_id = u.tenant_id AND r.id = u.record_id
WHERE u.field = 'uses of media' AND u.collection = 'posts' AND r.status = 'published'
AND r.visibility <> 'public' AND NOT r.email_only
"""
_PICTURES = """
INSERT INTO listed_values (tenant_id, collection, field, value, created, record_id)
SELECT u.tenant_id, u.collection, CASE WHEN r.published_at <= r.updated
    THEN 'files for everyone' ELSE 'files for everyone later' END,
    u.value, r.published_at, u.record_id
FROM listed_values u JOIN posts r ON r.tenant_id = u.tenant_id AND r.id = u.record_id
WHERE u.field = 'uses of media' AND u.collection = 'posts' AND r.status = 'published'
AND r.visibility <> 'public' AND NOT r.email_only
AND replace(r.featured_image, u.value, '') <> r.featured_image
"""
_COUNTS = """
UPDATE media SET open_uses = (
    SELECT COUNT(*) FROM listed_values l WHERE l.tenant_id = media.tenant_id
    AND l.collection IN
    ('_superusers', 'products', 'site_settings', 'welcome_emails', 'pages', 'posts')
    AND l.field = 'files for everyone' AND l.value = media.id
) WHERE uses > 0 OR draft_uses > 0
"""

_tenants = sa.table("tenants", sa.column("id"))
_jobs = sa.table(
    "jobs",
    *(sa.column(name) for name in ("tenant_id", "id", "kind", "payload", "run_at", "created")),
)


def upgrade() -> None:
    op.add_column("media", sa.Column("open_uses", types.Integer(), nullable=True))
    op.add_column(
        "media",
        sa.Column("private", types.Flag(), server_default=sa.text("false"), nullable=False),
    )
    for statement in (_ON_THE_SITE, _PAGES, _POSTS, _GATED, _PICTURES, _COUNTS):
        op.execute(statement)
    op.execute(_count_uses())


def _count_uses() -> sa.Insert:
    """A job for each tenant."""
    now = clock.to_text(clock.now())
    values: list[sa.ColumnElement[Any]] = [
        sa.literal_column(f"'{each}'")
        for each in ("countmediauses1", "media.count_uses", "{}", now, now)
    ]
    return _jobs.insert().from_select(list(_jobs.c.keys()), sa.select(_tenants.c.id, *values))
