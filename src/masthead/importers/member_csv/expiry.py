"""Deletes imports of members whose time is over, with their files."""

from __future__ import annotations

from typing import Final

from masthead.caller import system
from masthead.importers.member_csv.collection import member_imports
from masthead.records.engine import Records

_AT_ONCE: Final = 1_000


async def delete_expired(records: Records) -> None:
    """Uploads that were never started, and old reports."""
    due = await records.due(member_imports, "expires_at", records.clock(), _AT_ONCE)
    for tenant_id, ids in due.items():
        for import_id in ids:
            async with records.unit(system(tenant_id), emit_events=False) as unit:
                if await unit.find(member_imports, {"id": import_id}, limit=1):
                    await unit.delete(member_imports, import_id)
