"""The SQL of PostgreSQL's row-level security: who may see a row is decided by its tenant column.

The connection's setting `masthead.tenant` names the tenant; `*` is the platform itself, and a
connection without the setting sees nothing.
"""

from __future__ import annotations

ROLE = "masthead_tenant_rls"
"""What a connection becomes when its own role would pass every policy (a superuser, BYPASSRLS)."""


TENANT_COLUMN = "tenant_id"


def create_role() -> str:
    # Roles belong to the whole server: another database's migration may be creating it right now.
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
    # FORCE: without it the owner of the table, which is who usually connects, is let through.
    # CASE rather than OR: the planner takes an OR to hide nearly every row, and then reads and
    # sorts whole tables for the platform's own queries.
    visible = (
        "CASE current_setting('masthead.tenant', true) WHEN '*' THEN true "
        f"ELSE {tenant_column} = current_setting('masthead.tenant', true) END"
    )
    return (
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
        f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY",
        f"CREATE POLICY {table}_tenant ON {table} USING ({visible}) WITH CHECK ({visible})",
    )
