"""Operations for migrations in addition to Alembic's own."""

from __future__ import annotations

from pathlib import Path

from alembic import op

from masthead.storage.postgres.row_security import grant, protect


def execute_script(migration: str) -> None:
    """Executes the file next to the migration's own that has SQL for this database, one statement
    per line."""
    dialect = op.get_context().dialect.name
    script = Path(migration).with_suffix(f".{dialect}.sql").read_text()
    for statement in script.splitlines():
        # A colon would begin a parameter.
        op.execute(statement.removesuffix(";").replace(":", r"\:"))


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
