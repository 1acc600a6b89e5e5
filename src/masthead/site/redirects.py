"""Old addresses of a site and where they lead now: of imported posts, and of changed slugs."""

from __future__ import annotations

import re
from collections.abc import Mapping

from masthead.caller import system
from masthead.jobs.runner import Handler, Job
from masthead.records.collection import Collection
from masthead.records.engine import Records
from masthead.records.fields.text import Text, Url
from masthead.records.fields.values import Number
from masthead.records.write.unit import Unit

MAX_PATH = 600
"""Characters. PostgreSQL's unique index takes no more than about 2,700 bytes."""

redirects = Collection(
    "redirects",
    (
        Text(
            name="source",
            required=True,
            max=MAX_PATH,
            unique=True,
            pattern=re.compile(r"/[^\s\\\x00-\x1f]*"),
            help="The old path, with its query if it has one.",
        ),
        Url(name="destination", required=True),
        Number(name="status_code", min=301, max=308, default=301),
    ),
    audited="source",
    help="Old addresses of imported posts and where they are now.",
)

REDIRECT_JOB = "site.redirect"
MAX_CHANGED = 100
"""Older addresses that follow when an address changes once more. More of them lead to it by way of
another redirect."""


def handlers(records: Records) -> Mapping[str, Handler]:
    async def redirect(job: Job) -> None:
        """`site.redirect`: something has another address now."""
        async with records.unit(system(job.tenant_id), emit_events=False) as unit:
            await _redirect(unit, job.payload["old"], job.payload["new"])

    return {REDIRECT_JOB: redirect}


async def _redirect(unit: Unit, old: str, new: str) -> None:
    # The new address may be an older one of the same post, which must not lead away from it.
    for each in await unit.find(redirects, {"source": new}, limit=1):
        await unit.delete(redirects, each["id"])
    for each in await unit.find(redirects, {"destination": old}, limit=MAX_CHANGED):
        await unit.update(redirects, each["id"], {"destination": new})
    found = await unit.find(redirects, {"source": old}, limit=1)
    if found:
        await unit.update(redirects, found[0]["id"], {"destination": new})
    elif len(old) <= MAX_PATH:
        await unit.create(redirects, {"source": old, "destination": new})
