"""The worker's jobs for texts: cleaning those again that older rules have cleaned, or none, putting
them into the editions of a site whose languages have changed, making the keys of their order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final

from masthead.base.caller import Caller, system
from masthead.content.html.clean_texts import RULES, clean_or_plain
from masthead.content.texts.languages import EDITIONS_JOB
from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.records.changes import PreparedTexts
from masthead.engine.records.collection import Collection
from masthead.engine.records.engine import Records
from masthead.engine.records.read.page import ListRequest

CLEAN_JOB: Final = "texts.clean"
ORDER_JOB: Final = "texts.order"
CONCURRENCY: Final = {CLEAN_JOB: 1, EDITIONS_JOB: 1, ORDER_JOB: 1}
BATCH: Final = 20
"""Texts in memory at a time; each may hold megabytes."""
KEYS: Final = 200
"""Texts in a transaction that reads their titles alone. Each is a new version of the site."""


def handlers(records: Records, collections: Sequence[Collection]) -> Mapping[str, Handler]:
    async def clean_again(job: Job) -> None:
        """`texts.clean`: after an upgrade to other rules. Goes on where it was ended."""
        for collection in collections:
            async for found in _batches(records, job, collection):
                await _clean(records, system(job.tenant_id), collection, found)

    async def put_into_editions(job: Job) -> None:
        """`texts.editions`: those with a language. Goes on where it was ended: what is where it
        belongs stays as it is."""
        for collection in collections:
            async for found in _batches(records, job, collection, filter_="language != ''"):
                async with records.unit(system(job.tenant_id), emit_events=False) as unit:
                    for each in await unit.find_some(collection, found):
                        # Its stamps follow from the settings as they are now.
                        await unit.stamp(collection, each, {})

    async def order_again(job: Job) -> None:
        """`texts.order`: after an upgrade that has made other keys of them, or the first. Goes on
        where it was ended."""
        for collection in collections:
            async for found in _batches(records, job, collection, most=KEYS):
                async with records.unit(system(job.tenant_id), emit_events=False) as unit:
                    await unit.order_again(collection, found)

    return {CLEAN_JOB: clean_again, EDITIONS_JOB: put_into_editions, ORDER_JOB: order_again}


async def _batches(
    records: Records, job: Job, collection: Collection, *, most: int = BATCH, filter_: str = ""
) -> AsyncIterator[list[str]]:
    """The ids of the site's texts. Raises `Stopped` between two batches."""
    after = None
    while True:
        job.check()
        wanted = ListRequest(
            per_page=most,
            after=after,
            filter=filter_,
            names=frozenset({"created"}),
            skip_total=True,
        )
        found = (await records.page(system(job.tenant_id), collection, wanted)).items
        if not found:
            return
        yield [each["id"] for each in found]
        after = (found[-1]["created"], found[-1]["id"])


async def _clean(
    records: Records, caller: Caller, collection: Collection, ids: Sequence[str]
) -> None:
    prepared = PreparedTexts()
    texts: dict[str, str] = {}
    for each in ids:
        for record in await records.find(collection, {"id": each}, tenant_id=caller.tenant_id):
            if record["clean_rules"] != RULES:
                texts[each] = html = record["content_html"]
                prepared.texts[html] = await clean_or_plain(html)
    if not texts:
        return
    async with records.unit(caller, emit_events=False, prepared=prepared) as unit:
        for each, html in texts.items():
            await unit.render_again(collection, each, html)
