"""The worker's job for posts: publishing scheduled ones."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from masthead.base import clock
from masthead.base.caller import system
from masthead.content.texts.publication import PUBLISHED, is_due
from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.records.engine import Records
from masthead.features.posts.collection import posts
from masthead.identity.suspension import is_suspended

PUBLISH_JOB = "posts.publish"
HELD_RETRY = timedelta(minutes=10)
"""A post whose time comes while the site is suspended is published so long after it at the
latest."""


def handlers(records: Records) -> Mapping[str, Handler]:
    async def publish(job: Job) -> None:
        """`posts.publish`: a scheduled post, unless it was given another time or none since."""
        async with records.unit(system(job.tenant_id)) as unit:
            now = records.clock()
            for post in await unit.find(posts, {"id": job.payload["id"]}, limit=1):
                if not post["scheduled_for"]:
                    continue
                if not is_due(post, clock.to_text(now)):
                    # Another time, or the clock was put back since the job was claimed.
                    await unit.enqueue(PUBLISH_JOB, job.payload, post["scheduled_for"])
                elif await is_suspended(unit):
                    await unit.enqueue(PUBLISH_JOB, job.payload, clock.to_text(now + HELD_RETRY))
                else:
                    await unit.update(posts, post["id"], {"status": PUBLISHED})

    return {PUBLISH_JOB: publish}
