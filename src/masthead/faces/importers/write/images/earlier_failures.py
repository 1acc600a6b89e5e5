"""Pictures that earlier runs could not copy. A later run does not read posts again that have not
changed, so it tells what the reports of those runs say, as long as the posts show the old address.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.engine.records.read.page import ListRequest
from masthead.faces.importers.collection import import_runs
from masthead.faces.importers.report import IMAGE, Note, Report
from masthead.faces.importers.source import SourcePost
from masthead.faces.importers.write.drafts import key_of_post
from masthead.faces.importers.write.previous_imports import Item

_RUNS: Final = 10
"""The newest whose reports are read."""


class EarlierFailures:
    def __init__(self, records: Records, tenant_id: TenantId, run_id: str) -> None:
        """`run_id` is of the current run."""
        self._records = records
        self._tenant_id = tenant_id
        self._run_id = run_id
        self._notes: dict[str, dict[str, Note]] = {}
        """Notes by the post's source id and the address in it."""

    async def load(self, platform: str, namespace: str) -> None:
        wanted = ListRequest(
            per_page=_RUNS + 1,
            sort="-created",
            filter=f"platform = '{platform}' && dry_run = false",
            names=frozenset({"report"}),
            skip_total=True,
        )
        page = await self._records.page(system(self._tenant_id), import_runs, wanted)
        for run in page.items:
            if run["id"] == self._run_id or not run["report"]:
                continue
            report = msgspec.json.decode(run["report"], type=Report | None)
            if report is not None and report.namespace == namespace:
                for note in report.errors:
                    if note.kind == IMAGE:
                        self._notes.setdefault(note.source_id, {}).setdefault(note.url, note)

    async def still_shown(
        self, posts: Sequence[SourcePost], items: Mapping[str, Item]
    ) -> list[Note]:
        """Those of posts that stay as they are. `items` are by key."""
        noted = {
            post.source_id: items[key_of_post(post)]
            for post in posts
            if post.source_id in self._notes and key_of_post(post) in items
        }
        stored = await stored_records(self._records, self._tenant_id, noted.values())
        found: list[Note] = []
        for source_id, item in noted.items():
            if record := stored.get(item.record_id):
                text = text_with_addresses(record)
                found += [note for url, note in self._notes[source_id].items() if url in text]
        return found


async def stored_records(
    records: Records, tenant_id: TenantId, items: Iterable[Item]
) -> dict[str, Record]:
    """The records by id. One that is missing was deleted."""
    ids: dict[str, list[str]] = {}
    for item in items:
        ids.setdefault(item.collection, []).append(item.record_id)
    found: dict[str, Record] = {}
    for name, wanted in ids.items():
        for record in await records.find_related(
            system(tenant_id), records.registry[name], "id", wanted, limit=len(wanted)
        ):
            found[record["id"]] = record
    return found


def text_with_addresses(record: Record) -> str:
    """All texts of a record in which the address of a picture may stand."""
    names = ("content_html", "content_json", "description")
    bodies: list[Any] = [record[name] for name in names if name in record]
    texts = (record.get("featured_image", ""), msgspec.json.encode(bodies).decode())
    return "\n".join(texts).replace("&amp;", "&")
