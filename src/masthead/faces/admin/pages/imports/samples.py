"""Ten posts of an export as the site would show them, before anything is imported."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import msgspec

from masthead.base import clock, ids
from masthead.base.caller import STAFF_READER, system
from masthead.base.errors import NotFound
from masthead.base.languages.words import counted
from masthead.engine.records.collection import file_key
from masthead.engine.records.write.validation import NewRecord
from masthead.faces.admin.endpoint import Answer, Framed
from masthead.faces.admin.environment import number
from masthead.faces.admin.pages.imports.runs import ADDRESS
from masthead.faces.admin.request import AdminRequest
from masthead.faces.importers.collection import DONE, PREVIEW, import_runs
from masthead.faces.importers.tasks.actions import find_run
from masthead.faces.importers.write.file_names import SAMPLES_FILE
from masthead.faces.importers.write.samples import Sample, read_samples


class SampleRow(msgspec.Struct, frozen=True):
    title: str
    note: str
    """Its pictures and words."""
    url: str
    """The address of the page for the frame."""


async def sample_rows(request: AdminRequest, run_id: str) -> list[SampleRow]:
    samples = await _read(request, run_id)
    return [
        SampleRow(each.values["title"], _note(each), f"{ADDRESS}/{run_id}/samples/{number}")
        for number, each in enumerate(samples)
    ]


async def sample_page(request: AdminRequest, run_id: str, number: str) -> Answer:
    """The page itself, for the frame: made by the site's theme, from sanitized HTML."""
    run = await find_run(request.records, request.tenant_id, run_id)
    is_shown = run["task"] == PREVIEW and run["state"] == DONE
    samples = await _read(request, run_id) if is_shown else []
    if not number.isdecimal() or len(number) > 2 or int(number) >= len(samples):
        raise NotFound
    sample = samples[int(number)]
    collection = request.records.registry[sample.collection]
    # In a thread: cleaning a long text takes a while.
    record = await asyncio.to_thread(_record, request, sample)
    body = await request.tools.previews.page(
        request.context, request.tenant, STAFF_READER, collection, text=record
    )
    return Framed(body)


async def _read(request: AdminRequest, run_id: str) -> list[Sample]:
    """None where a restored backup has no such file."""
    key = file_key(request.tenant_id, import_runs, run_id, SAMPLES_FILE)
    try:
        stored = await request.services.objects.get(key)
    except NotFound:
        return []
    return read_samples(b"".join([chunk async for chunk in stored.chunks]))


def _record(request: AdminRequest, sample: Sample) -> dict[str, Any]:
    """The record that the import would create, validated by the same rules."""
    collection = request.records.registry[sample.collection]
    values = {**sample.values, "content_html": _secure(sample.values["content_html"])}
    if "featured_image" in values:
        values["featured_image"] = values["featured_image"].replace("http://", "https://", 1)
    new = NewRecord.checked(system(request.tenant_id), collection, values)
    now = clock.to_text(request.records.clock())
    return {
        "id": ids.new_id(),
        "tenant_id": request.tenant_id,
        **new.fields,
        "created": now,
        "updated": now,
        "version": 1,
    }


def _secure(html: str) -> str:
    """The policy of the pages lets no picture load without TLS. The import copies them anyway."""
    return _PICTURES.sub(lambda found: found[0].replace("http://", "https://"), html)


_PICTURES = re.compile(r'\b(?:src|srcset|poster)="[^"]*"')


def _note(sample: Sample) -> str:
    said = counted("%(count)s word", "%(count)s words", sample.words, count=number(sample.words))
    if not sample.pictures:
        return said
    pictures = counted("%(number)s picture", "%(number)s pictures", sample.pictures)
    return f"{pictures}, {said}"
