"""The table of jobs. Rows are written in the transaction that needs the work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, text

from masthead.base import ids
from masthead.base.languages.words import as_text
from masthead.storage import dialects
from masthead.storage.dialects import not_empty
from masthead.storage.metadata import metadata

jobs = Table(
    "jobs",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    Column("id", dialects.Text(), nullable=False),
    Column("kind", dialects.Text(), nullable=False),
    Column("payload", dialects.Json(), nullable=False),
    Column("run_at", dialects.Text(), nullable=False),
    Column("attempts", dialects.Integer(), nullable=False, server_default=text("0")),
    # The end of a worker's lease; '' for an unclaimed job.
    Column("leased_until", dialects.Text(), nullable=False, server_default=text("''")),
    # Set after the last attempt. The row stays, for the operator.
    Column("failed_at", dialects.Text(), nullable=False, server_default=text("''")),
    Column("error", dialects.Text(), nullable=False, server_default=text("''")),
    Column("created", dialects.Text(), nullable=False),
    PrimaryKeyConstraint("tenant_id", "id"),
    # A worker queries each kind by itself, so that a long queue of one does not slow another.
    Index("ix_jobs__kind_failed_at_run_at", "kind", "failed_at", "run_at"),
)
# Few of many jobs: those that run, and those that have failed for good.
Index(
    "ix_jobs__leased", jobs.c.kind, jobs.c.leased_until, sqlite_where=not_empty(jobs.c.leased_until)
)
Index("ix_jobs__failed", jobs.c.failed_at, sqlite_where=not_empty(jobs.c.failed_at))


def new_job(
    tenant_id: str, kind: str, payload: Mapping[str, Any], created: str, *, run_at: str = ""
) -> dict[str, Any]:
    """The values of a new row; due at once without `run_at`."""
    return {
        "tenant_id": tenant_id,
        "id": ids.new_id(),
        "kind": kind,
        "payload": msgspec.json.encode(payload, enc_hook=as_text).decode(),
        "run_at": run_at or created,
        "attempts": 0,
        "leased_until": "",
        "failed_at": "",
        "error": "",
        "created": created,
    }
