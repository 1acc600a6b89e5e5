"""How many bytes the media of each site have."""

from __future__ import annotations

from alembic import op

revision = "0062"
down_revision = "0061"

_SUMS = """
INSERT INTO record_counts (tenant_id, collection, counter, bucket, total)
SELECT tenant_id, 'media', 'sum of size', '', CAST(SUM(size) AS BIGINT)
FROM media WHERE true GROUP BY tenant_id
ON CONFLICT (tenant_id, collection, counter, bucket) DO UPDATE SET total = excluded.total
"""


def upgrade() -> None:
    op.execute(_SUMS)
