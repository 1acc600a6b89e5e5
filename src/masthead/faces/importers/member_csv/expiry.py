"""Deletes imports of members whose time is over, with their files."""

from __future__ import annotations

from functools import partial
from typing import Final

from masthead.engine.records.due_records import delete_quietly, work_off_due
from masthead.engine.records.engine import Records
from masthead.faces.importers.member_csv.collection import member_imports

_AT_ONCE: Final = 1_000


async def delete_expired(records: Records) -> None:
    """Uploads that were never started, and old reports."""
    work, now = partial(delete_quietly, records, member_imports), records.clock()
    await work_off_due(records, member_imports, "expires_at", now, work=work, at_once=_AT_ONCE)
