"""Work on posts that an upgrade leaves to the worker."""

from __future__ import annotations

from collections.abc import Mapping

from masthead.caller import system
from masthead.jobs.runner import Handler, Job
from masthead.posts.collection import posts
from masthead.records.engine import ListRequest, Records

LIST_JOB = "posts.list"
BATCH = 200


def handlers(records: Records) -> Mapping[str, Handler]:
    async def put_into_lists(job: Job) -> None:
        """`posts.list`: the posts that were published before there were lists of the site."""
        caller, after = system(job.tenant_id), None
        while True:
            wanted = ListRequest(
                per_page=BATCH, after=after, names=frozenset({"created"}), skip_total=True
            )
            found = (await records.page(caller, posts, wanted)).items
            if not found:
                return
            async with records.unit(caller, emit_events=False) as unit:
                for each in found:
                    await unit.list_again(posts, each["id"])
            after = (found[-1]["created"], found[-1]["id"])

    return {LIST_JOB: put_into_lists}
