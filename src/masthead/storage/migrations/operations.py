"""What a migration does beside Alembic's own operations."""

from __future__ import annotations

from alembic import op

from masthead.storage.postgres.row_security import grant, protect


def share(table: str, tenant_column: str | None) -> None:
    """Opens a new table to the service's role; by row when a column names the tenant.

    Only PostgreSQL has roles and row-level security.
    """
    if op.get_context().dialect.name != "postgresql":
        return
    op.execute(grant(table))
    if tenant_column is not None:
        for statement in protect(table, tenant_column):
            op.execute(statement)
