"""`masthead trash`: lists, restores and deletes what a tenant has deleted."""

from __future__ import annotations

from typing import Any

import click

from masthead.base.caller import shell
from masthead.base.errors import NotFound
from masthead.base.ids import is_id
from masthead.engine.records.collection import Record
from masthead.engine.records.filter.conditions import any_of, equals
from masthead.engine.records.read.page import ListRequest
from masthead.features.trash.collection import TYPES, trash
from masthead.features.trash.emptying import empty_trash
from masthead.service.cli.arguments import confirm, counted, tenant_option, yes_option
from masthead.service.cli.invocation import Invocation, Output, command, new_group
from masthead.service.cli.opened_installation import opened_site

app = new_group("Lists and restores deleted posts, pages and files, and empties the trash.")

PAGE = 500
COLUMNS = ("id", "type", "title", "deleted_at", "expires_at")


@command("list", app)
@tenant_option
@click.option("--type", "kind", type=click.Choice(TYPES), help="Only what was deleted from here.")
async def list_trash(invocation: Invocation, tenant: str, kind: str | None) -> Output:
    """Lists what was deleted in the last 30 days, newest first."""
    of_types = any_of([equals("type", each) for each in ([kind] if kind else TYPES)])
    wanted = ListRequest(per_page=PAGE, filter=of_types or "", skip_total=True)
    async with opened_site(invocation, tenant) as site:
        pages = site.parts.records.pages(shell(site.id), trash, wanted)
        found = [each async for page in pages for each in page]
    return Output([_shown(each) for each in found], "The trash is empty.", COLUMNS)


@command("restore", app)
@tenant_option
@click.argument("entry_id", metavar="ID")
async def restore(invocation: Invocation, tenant: str, entry_id: str) -> Output:
    """Restores a deleted post, page or file, with all that was deleted with it."""
    async with opened_site(invocation, tenant) as site:
        records, caller = site.parts.records, shell(site.id)
        async with records.unit(caller) as unit:
            found = await unit.find_one(trash, {"id": entry_id}) if is_id(entry_id) else None
            if not found:
                raise NotFound(f"The trash of {tenant} has no entry {entry_id!r}")
            collection, record = await unit.restore(entry_id)
    slug = record[collection.slug.name] if collection.slug else ""
    data = {"id": record["id"], "type": collection.name, "title": found["title"], "slug": slug}
    return Output(data, f"“{found['title']}” is restored.")


@command("empty", app)
@tenant_option
@yes_option
async def empty(invocation: Invocation, tenant: str, yes: bool) -> Output:
    """Deletes for good everything that is in the trash."""
    async with opened_site(invocation, tenant) as site:
        records, caller = site.parts.records, shell(site.id)
        confirm(f"Delete everything in the trash of {tenant} for good?", yes=yes)
        count = await empty_trash(records, caller)
    entries = counted(count, "entry", "entries")
    return Output({"deleted": count}, f"Deleted {entries} of the trash for good.")


def _shown(entry: Record) -> dict[str, Any]:
    return {name: entry[name] for name in (*COLUMNS, "record_id", "slug")}
