"""The schema of version 0.1.0. `python -m masthead.storage.migrations.squash` wrote it."""

from __future__ import annotations

from masthead.storage.migrations.operations import execute_script

revision = "0063"
down_revision = None


def upgrade() -> None:
    execute_script(__file__)
