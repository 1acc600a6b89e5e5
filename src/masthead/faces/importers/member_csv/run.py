"""Runs an import of members in the worker, in batches that commit with the progress.

A member is known by the address. An existing one gets what the mapped columns say, with three
exceptions: the newsletter is never turned on, paid access is never taken away, and a tier that the
payment processor decides stays as it is. No email is sent. An event is written for a member whose
newsletter is turned off, because other services must stop mailing them, and for nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import islice
from tempfile import TemporaryFile
from typing import Any, BinaryIO, Final, cast

from msgspec import Struct, convert

from masthead.base import clock
from masthead.base.caller import service_of
from masthead.base.errors import Invalid
from masthead.base.languages.words import staff_marked
from masthead.engine.jobs.runner import Job
from masthead.engine.records.accounts import credentials
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.engine.records.long_task import LongTask
from masthead.engine.records.write.unit import Unit
from masthead.faces.importers.dates import created_stamp
from masthead.faces.importers.files.csv_rows import CsvTable
from masthead.faces.importers.files.uploaded import fetch_into, reopened
from masthead.faces.importers.member_csv.collection import (
    DONE,
    MAX_PROBLEMS,
    REPORT_FOR,
    RUNNING,
    member_imports,
)
from masthead.faces.importers.member_csv.rows import BadRow, MemberRow, member_rows, problems_of
from masthead.features.members.collection import UNSUBSCRIBED, blog_members, imported_consent
from masthead.features.members.welcome import FREE, welcomed_elsewhere
from masthead.features.payments.collection import payment_customers, payment_subscriptions
from masthead.storage.objects import ObjectStore

BATCH: Final = 200
NO_ANSWER: Final = staff_marked(
    "The database or the file store did not answer. Upload the file again."
)
ADDED, CHANGED, UNCHANGED, REFUSED = "added", "changed", "unchanged", "refused"


class ChosenOptions(Struct, frozen=True):
    """The field `options` of an import."""

    columns: dict[str, str] = {}
    """From the field of a member to the column."""
    label: str = ""
    """For everyone of the file."""
    consent: str = ""
    """How they agreed to get newsletters."""


class Overtaken(Exception):
    """Another worker has stored these rows. The job runs again, and finds out what is left."""


class MemberImport(LongTask):
    collection = member_imports
    key = "import_id"
    state = "status"
    gave_up = NO_ANSWER

    def __init__(self, records: Records, objects: ObjectStore, job: Job) -> None:
        super().__init__(records, job)
        self._objects = objects

    async def work(self, record: Record) -> None:
        chosen = convert(record["options"] or {}, ChosenOptions)
        # Without a name in any folder, so a crash leaves no addresses behind.
        with TemporaryFile() as opened:
            file = cast(BinaryIO, opened)
            await fetch_into(file, self._objects, record["object_key"])
            table = await asyncio.to_thread(CsvTable, reopened(file))
            await self.stamp(status=RUNNING)
            done = int(record["read_rows"])
            # From the start also after a crash: whose address comes twice shows only so.
            rows = islice(member_rows(table, chosen.columns, chosen.label), done, None)
            while batch := await asyncio.to_thread(_some, rows):
                self.job.check()
                await self._store(batch, done, chosen.consent)
                done += len(batch)
        await self.end(DONE)

    async def end(self, state: str, **stamped: Any) -> None:
        """Also deletes the file."""
        expires = clock.to_text(self.records.clock() + REPORT_FOR)
        await super().end(state, object_key="", expires_at=expires, **stamped)

    async def _store(self, batch: Sequence[MemberRow | BadRow], done: int, consent: str) -> None:
        counts = dict.fromkeys((ADDED, CHANGED, UNCHANGED, REFUSED), 0)
        problems: list[tuple[int, str]] = []
        # On behalf of the site, so that one that is read-only stays as it is.
        caller = service_of(self.tenant_id)
        async with self.records.unit(caller, emit_events=UNSUBSCRIBED) as unit:
            found = await unit.require(
                member_imports, {"id": self.id}, missing="The import was deleted."
            )
            if found["read_rows"] != done:
                raise Overtaken
            for row in batch:
                result, reason = await self._one(unit, row, consent)
                counts[result] += 1
                if reason:
                    problems.append((row.number, reason))
            await unit.update(
                member_imports, self.id, {}, stamped=_progress(found, counts, problems)
            )

    async def _one(self, unit: Unit, row: MemberRow | BadRow, consent: str) -> tuple[str, str]:
        if isinstance(row, BadRow):
            return REFUSED, row.reason
        try:
            found = await unit.find_one(blog_members, {"email": row.values["email"]})
            if not found:
                stamp = created_stamp(row.created, self.records.clock())
                if row.values.get("newsletter"):
                    stamp |= imported_consent(consent, unit.now)
                stamp |= welcomed_elsewhere(row.values.get("tier", FREE))
                await unit.create(blog_members, row.values, stamped={**credentials(""), **stamp})
                return ADDED, ""
            changes = await _changes(unit, found, row.values)
            if changes:
                stamp_tier = welcomed_elsewhere(changes.get("tier", ""))
                await unit.update(blog_members, found["id"], changes, stamped=stamp_tier)
            return (CHANGED if changes else UNCHANGED), ""
        except Invalid as error:
            return REFUSED, " ".join(problems_of(error))


def _some(rows: Iterator[MemberRow | BadRow]) -> list[MemberRow | BadRow]:
    return list(islice(rows, BATCH))


def _progress(
    run: Record, counts: dict[str, int], problems: list[tuple[int, str]]
) -> dict[str, Any]:
    stamped: dict[str, Any] = {name: run[name] + more for name, more in counts.items()}
    stamped["read_rows"] = run["read_rows"] + sum(counts.values())
    stored = run["problems"] or []
    if problems and len(stored) < MAX_PROBLEMS:
        stamped["problems"] = [*stored, *map(list, problems)][:MAX_PROBLEMS]
    return stamped


async def _changes(unit: Unit, member: Record, values: dict[str, Any]) -> dict[str, Any]:
    """The changes that the row makes to an existing member."""
    changes: dict[str, Any] = {
        name: values[name]
        for name in ("name", "note", "language")
        if name in values and values[name] != member[name]
    }
    if values.get("newsletter") is False and member["newsletter"]:
        changes["newsletter"] = False
    new = [each for each in values.get("labels", []) if each not in member["labels"]]
    if new:
        changes["labels"] = [*member["labels"], *new]
    is_raised = values.get("tier") == "paid" and member["tier"] != "paid"
    if is_raised and not await _pays(unit, member):
        changes["tier"] = "paid"
    return changes


async def _pays(unit: Unit, member: Record) -> bool:
    """The payment processor knows them, so it decides their tier."""
    if member["payment_customer_id"]:
        return True
    theirs = {"member_id": member["id"]}
    for collection in (payment_customers, payment_subscriptions):
        if await unit.find(collection, theirs, limit=1):
            return True
    return False
