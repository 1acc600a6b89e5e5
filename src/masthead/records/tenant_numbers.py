"""The statements that move a tenant's numbers: see `versions.py` for what they mean."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from masthead.records.tables import tenant_states
from masthead.storage import dialects


def next_version() -> Any:
    """Takes the tenant's next version, and with it the tenant's turn to write."""
    upsert = dialects.upsert_add(tenant_states, ("tenant_id",), "version")
    return upsert.returning(tenant_states.c.version, tenant_states.c.identity_version)


def mark_identity() -> sa.Update:
    """What is remembered of the tenant's identity does not hold from this version on."""
    return (
        sa.update(tenant_states)
        .where(tenant_states.c.tenant_id == sa.bindparam("tenant"))
        .values(identity_version=tenant_states.c.version)
    )
