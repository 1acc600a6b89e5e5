"""The imports of a tenant: a list of them, and the undo of one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from masthead.base.caller import shell, system
from masthead.base.errors import NotFound
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.engine.records.read.page import ListRequest
from masthead.faces.importers.collection import DONE, FAILED, QUEUED, UNDO, import_runs
from masthead.faces.importers.report import IMPORTED, Undone, read_report
from masthead.faces.importers.tasks.actions import find_run, start_task
from masthead.service.cli.invocation import Invocation
from masthead.service.cli.opened_installation import opened_site

LISTED: Final = 100
NAMED: Final = 20
"""Records that stay, of each reason, which the text names. JSON has up to 500."""
LOOK_EVERY_SECONDS: Final = 0.2
_SHOWN: Final = (
    *("id", "platform", "file_name", "task", "state", "error"),
    *("created", "started_at", "finished_at"),
)
_OF_UNDO: Final = ("removed", "stayed", "left")


async def list_runs(invocation: Invocation, tenant: str) -> list[dict[str, Any]]:
    async with opened_site(invocation, tenant) as site:
        wanted = ListRequest(per_page=LISTED, sort="-created", skip_total=True)
        page = await site.parts.records.page(system(site.id), import_runs, wanted)
    return [_shown(each) for each in page.items]


async def undo(
    invocation: Invocation,
    tenant: str,
    run_id: str,
    *,
    wait_seconds: float,
    ask: Callable[[str], None],
) -> dict[str, Any]:
    """Waits until the worker has undone the import, at most for the given time. `ask` is called
    with the name of the file, and raises unless a person agrees."""
    async with opened_site(invocation, tenant) as site:
        records = site.parts.records
        try:
            run = await find_run(records, site.id, run_id)
        except NotFound:
            raise NotFound(
                f"{tenant} has no import {run_id!r}. `masthead import list` shows them"
            ) from None
        ask(run["file_name"])
        await start_task(records, shell(site.id), run_id, UNDO)
        return _shown(await _wait_for_end(records, site.id, run_id, wait_seconds))


async def _wait_for_end(
    records: Records, tenant_id: TenantId, run_id: str, wait_seconds: float
) -> Record:
    """The run at its end, or as it is when the time is over."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + wait_seconds
    while True:
        run = await find_run(records, tenant_id, run_id)
        if run["state"] in (DONE, FAILED) or loop.time() >= ends:
            return run
        await asyncio.sleep(LOOK_EVERY_SECONDS)


def _shown(run: Record) -> dict[str, Any]:
    shown = {name: run[name] for name in _SHOWN}
    if run["task"] == UNDO:
        report = run["report"]
        # A list has it as it is stored.
        report = msgspec.json.decode(report) if isinstance(report, msgspec.Raw) else report
        undone = msgspec.to_builtins(read_report(report).undone)
        shown |= {name: undone[name] for name in _OF_UNDO}
    return shown


def list_row(shown: dict[str, Any]) -> dict[str, Any]:
    """As the table of `import list` has it."""
    removed, stayed = (sum(shown.get(name, {}).values()) for name in ("removed", "stayed"))
    state = shown["state"]
    if shown["task"] == UNDO:
        state += f": {removed:,} removed, {stayed:,} left"
    elif shown["error"]:
        state += f": {shown['error']}"
    return {**shown, "state": state}


def undo_text(shown: dict[str, Any]) -> str:
    return "\n".join(_undo_lines(shown))


def _undo_lines(shown: dict[str, Any]) -> Iterator[str]:
    undone = msgspec.convert({name: shown[name] for name in _OF_UNDO}, Undone)
    name = shown["file_name"]
    if shown["state"] == FAILED:
        yield f"The import of {name} could not be undone: {shown['error']}"
    elif shown["state"] == DONE:
        yield f"The import of {name} is undone."
    else:
        verb = "waits for the worker" if shown["state"] == QUEUED else "is still at work"
        yield f"The undo of the import of {name} {verb}. `masthead import list` shows when it ends."
        if shown["state"] == QUEUED:
            return
    yield f"Removed: {undone.removed_words()}."
    for reason, count in undone.stayed.items():
        yield f"Left, {reason}: {count:,}"
        for each in [each for each in undone.left if each.reason == reason][:NAMED]:
            yield f"  {IMPORTED[each.kind][0]} {each.title or each.source_id}"
