"""The job by which the library learns the alternative texts that posts and pages give to its
pictures: those that it lacks, and changes of those that it has from a picture's only text."""

from __future__ import annotations

from collections.abc import Mapping

from masthead.base.caller import system
from masthead.content.texts.alt_texts import LEARN_ALTS_JOB, alts_in
from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.records.engine import Records
from masthead.features.media.collection import media


def handlers(records: Records) -> Mapping[str, Handler]:
    async def learn_alts(job: Job) -> None:
        """`media.learn_alts`: what the text says now, as it may have been changed since."""
        payload = job.payload
        found = await records.find_one(
            records.registry[payload["collection"]], {"id": payload["id"]}, tenant_id=job.tenant_id
        )
        if not found:
            return
        alts = alts_in(found)
        async with records.unit(system(job.tenant_id)) as unit:
            for item_id, before in payload["before"].items():
                item = await unit.find_one(media, {"id": item_id})
                alt = alts.get(item_id)
                if not item or not alt or item["alt"] == alt:
                    continue
                # A text that is written in the library, or for another post, stays.
                is_its_own = item["alt"] == before and item["uses"] <= 1
                if not item["alt"] or is_its_own:
                    await unit.update(media, item_id, {"alt": alt})

    return {LEARN_ALTS_JOB: learn_alts}
