"""The SQL of PostgreSQL's row-level security, by the tenant column.

The connection's setting `masthead.tenant` names the tenant; `*` is every tenant, and a connection
without the setting sees no row.
"""

from __future__ import annotations

ROLE = "masthead_tenant_rls"
"""A connection switches to this role if its own bypasses policies (a superuser, BYPASSRLS)."""


TENANT_COLUMN = "tenant_id"


def create_role() -> str:
    # Roles belong to the whole server: another database's migration may create it concurrently.
    return f"""
DO $$
DECLARE me pg_roles;
BEGIN
  SELECT * INTO me FROM pg_roles WHERE rolname = current_user;
  IF me.rolsuper OR me.rolcreaterole THEN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{ROLE}') THEN
      BEGIN
        CREATE ROLE {ROLE} NOLOGIN;
      EXCEPTION WHEN duplicate_object OR unique_violation THEN
        NULL;
      END;
    END IF;
    IF me.rolbypassrls AND NOT me.rolsuper THEN
      GRANT {ROLE} TO CURRENT_USER;
    END IF;
  END IF;
END $$"""  # noqa: S608 - a constant of this module


def grant(table: str) -> str:
    return f"""
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = '{ROLE}') THEN
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO {ROLE}', current_schema());
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLE {table} TO {ROLE};
  END IF;
END $$"""


def protect(table: str, tenant_column: str = TENANT_COLUMN) -> tuple[str, ...]:
    # FORCE: without it the policy would not apply to the table's owner, who usually connects.
    # CASE rather than OR: for an OR the planner expects few rows, and then reads and sorts whole
    # tables for the platform's own queries.
    visible = (
        "CASE current_setting('masthead.tenant', true) WHEN '*' THEN true "
        f"ELSE {tenant_column} = current_setting('masthead.tenant', true) END"
    )
    return (
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
        f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY",
        f"CREATE POLICY {table}_tenant ON {table} USING ({visible}) WITH CHECK ({visible})",
    )
