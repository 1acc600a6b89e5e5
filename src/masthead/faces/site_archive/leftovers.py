"""Sites whose import was interrupted by a crash: found by their name, and removed."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from masthead.base import clock, ids
from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.base.logs import log
from masthead.engine.jobs.isolation import isolated
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit
from masthead.features.privacy.requests import ERASE_JOB
from masthead.features.privacy.rows import TenantRows
from masthead.identity.tenants import TenantStatus, tenants
from masthead.storage.objects import ObjectStore

IMPORTING: Final = "The site is being imported."
ABANDONED_AFTER: Final = timedelta(hours=1)
"""Without a sign of life. A file of several gigabytes may take minutes."""
_AT_ONCE: Final = 20
_HIDDEN: Final = "-importing-"


def hidden_slug() -> str:
    """A new one for each attempt. Nobody can have it: a slug begins with a letter or a digit."""
    return f"{_HIDDEN}{ids.new_id()}"


class Leftovers:
    def __init__(self, records: Records, objects: ObjectStore) -> None:
        self._records = records
        self._objects = objects

    async def sweep(self) -> None:
        """Removes the sites of imports that have shown no life for an hour."""
        oldest = clock.to_text(self._records.clock() - ABANDONED_AFTER)
        is_left = f"status = '{TenantStatus.SUSPENDED}' && updated < '{oldest}'"
        for each in await self._records.first(
            system(), tenants, _AT_ONCE, filter=f"{is_left} && slug ~ '{_HIDDEN}%'"
        ):
            log.warning("site.import_abandoned", tenant_id=each["id"])
            with isolated("site_import.remove", tenant_id=each["id"]):
                await self.remove(TenantId(each["id"]))

    async def remove(self, tenant_id: TenantId) -> None:
        await self._objects.delete_prefix(tenant_id)
        await TenantRows(self._records.database, erase_job=ERASE_JOB).remove_site(tenant_id)

    async def show_life(self, unit: Unit) -> None:
        now = {"id": unit.tenant_id, "updated": unit.now}
        await unit.link_copies(self._records.registry[tenants.name], [now], ("updated",))
