"""The imports of a tenant: a list of them, and the undo of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from masthead.caller import shell, system
from masthead.cli.invocation import Invocation
from masthead.cli.opened_installation import opened
from masthead.errors import NotFound
from masthead.identity.tenant_lookup import find_tenant_named
from masthead.ids import TenantId
from masthead.importers.collection import UNDO, import_runs
from masthead.importers.tasks.actions import find_run, start_task
from masthead.records.collection import Record
from masthead.records.read.page import ListRequest

LISTED: Final = 100
_SHOWN: Final = (
    *("id", "platform", "file_name", "task", "state", "error"),
    *("created", "started_at", "finished_at"),
)


async def list_runs(invocation: Invocation, tenant: str) -> list[dict[str, Any]]:
    async with opened(invocation) as parts:
        tenant_id = TenantId((await find_tenant_named(parts.records, tenant))["id"])
        wanted = ListRequest(per_page=LISTED, sort="-created", skip_total=True)
        page = await parts.records.page(system(tenant_id), import_runs, wanted)
    return [_shown(each) for each in page.items]


async def undo(
    invocation: Invocation, tenant: str, run_id: str, ask: Callable[[str], None]
) -> dict[str, Any]:
    """`ask` is called with the name of the file, and raises unless a person agrees."""
    async with opened(invocation) as parts:
        tenant_id = TenantId((await find_tenant_named(parts.records, tenant))["id"])
        try:
            run = await find_run(parts.records, tenant_id, run_id)
        except NotFound:
            raise NotFound(
                f"{tenant} has no import {run_id!r}. `masthead import list` shows them"
            ) from None
        ask(run["file_name"])
        await start_task(parts.records, shell(tenant_id), run_id, UNDO)
        return _shown(await find_run(parts.records, tenant_id, run_id))


def _shown(run: Record) -> dict[str, Any]:
    return {name: run[name] for name in _SHOWN}
