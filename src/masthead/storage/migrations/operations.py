"""Operations for migrations in addition to Alembic's own."""

from __future__ import annotations

from alembic import op

from masthead.storage.postgres.row_security import grant, protect


def share(table: str, tenant_column: str | None) -> None:
    """Grants the service's role access to a new table, by row if a column names the tenant.

    Only for PostgreSQL, which has roles and row-level security.
    """
    if op.get_context().dialect.name != "postgresql":
        return
    op.execute(grant(table))
    if tenant_column is not None:
        for statement in protect(table, tenant_column):
            op.execute(statement)
