"""The invariants: they must hold after any fault, once the service has settled."""

from __future__ import annotations

import asyncio
import io
import sqlite3
import zipfile
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from xml.etree import ElementTree

import sqlalchemy as sa
from tests.faults.installation import Installation, last_errors, lost_views
from tests.faults.load import Load
from tests.whole import deep_check

from masthead.base import clock
from masthead.engine.events.outbox import events
from masthead.engine.jobs.tables import jobs
from masthead.faces.site_export.collection import export_key
from masthead.features.statistics.tables import view_counts
from masthead.identity.delayed_writes import FLUSH_SECONDS
from masthead.service.schema import tables
from masthead.storage.database import EVERY_TENANT
from masthead.storage.urls import sqlite_path

SETTLE_SECONDS = 150
"""Longer than the server leaves the locks to a process that hangs."""
LEASES = timedelta(minutes=3)
"""Longer than any lease: what a killed process had claimed is free again."""


@dataclass
class Found:
    records: int = 0
    losses: list[str] = field(default_factory=list)

    def expect(self, holds: bool, sentence: str) -> None:
        if not holds:
            self.losses.append(sentence)


async def settle(site: Installation) -> None:
    """Waits until no work is left that is due or has failed before: deliveries, emails, jobs."""
    free_leases(site)
    try:
        async with asyncio.timeout(SETTLE_SECONDS):
            while True:
                while await _waiting(site):
                    await asyncio.sleep(0.1)
                if not await _skip_backoff(site):
                    break
    except TimeoutError:
        left, errors = await _waiting(site), last_errors(site.log)
        raise AssertionError(f"still waiting: {left[:20]}; {errors[-5:]}") from None


def free_leases(site: Installation) -> None:
    """Moves the clock past those of killed processes."""
    site.move_clock(_offset(site) + LEASES.total_seconds())


def _offset(site: Installation) -> float:
    return float((site.folder / "offset").read_text())


async def _skip_backoff(site: Installation) -> bool:
    """Moves the clock to the next attempt at a job that has failed. False if there is none."""
    now, j = site.clock(), jobs.c
    failed = sa.select(sa.func.min(j.run_at)).where(j.failed_at == "", j.error != "")
    [(next_attempt,)] = await rows_of(site, failed)
    if next_attempt is None:
        return False
    wait = (clock.from_text(next_attempt) - now).total_seconds()
    site.move_clock(_offset(site) + max(0.0, wait) + 0.1)
    return True


async def _waiting(site: Installation) -> list[Any]:
    now = clock.to_text(site.clock())
    deliveries, mailings = tables["webhook_deliveries"], tables["mailings"]
    d, m, j = deliveries.c, mailings.c, jobs.c
    return [
        *await rows_of(
            site, sa.select(d.event, d.attempts, d.next_attempt_at).where(d.state == "pending")
        ),
        *await rows_of(
            site, sa.select(m.id, m.status).where(m.status.not_in(("sent", "failed", "cancelled")))
        ),
        *await rows_of(
            site,
            sa.select(j.kind, j.run_at, j.attempts, j.leased_until, j.error).where(
                j.failed_at == "", j.run_at <= now
            ),
        ),
    ]


async def rows_of(site: Installation, query: sa.Select[Any]) -> list[Any]:
    database = site.world.parts.database
    return list(await database.fetch(EVERY_TENANT, *database.compile(query)({}), slow=True))


async def check(site: Installation, load: Load) -> Found:
    """Needs the service to be running."""
    found = Found()
    found.losses += load.ledger.undocumented
    for step in STEPS:
        await step(site, load, found)
    if not load.clock_jumps:
        # By a clock that jumps, all attempts of a day may fall into one fault.
        failed = sa.select(jobs.c.kind, jobs.c.error).where(jobs.c.failed_at != "")
        found.losses += [f"a job has given up: {each}" for each in await rows_of(site, failed)]
    await check_whole(site, found)
    return found


async def _check_posts(site: Installation, load: Load, found: Found) -> None:
    """Everything acknowledged is there; what was cut off happened as a whole or not at all."""
    posts = tables["posts"]
    rows = await rows_of(site, sa.select(posts.c.id, posts.c.title))
    found.records += len(rows)
    by_id = dict(map(tuple, rows))
    titles = Counter(by_id.values())
    for post in load.ledger.posts:
        if not post.id:
            found.expect(titles[post.title] <= 1, f"{post} is there {titles[post.title]} times")
            continue
        title = by_id.get(post.id)
        found.expect(title in post.possible(), f"{post} is {title}")
        # What was open is decided now.
        post.acknowledged, post.is_settled = title, True
    for title in load.ledger.imported:
        found.expect(titles[title] == 1, f"the imported {title} is there {titles[title]} times")
    for title in load.ledger.doubtful_imports:
        found.expect(titles[title] <= 1, f"the imported {title} is there {titles[title]} times")
    written = {post.title for post in load.ledger.posts} | load.ledger.doubtful_imports
    known = {post.id for post in load.ledger.posts} | {
        each for each, title in by_id.items() if title in written
    }
    found.expect(by_id.keys() <= known, f"posts that no one wrote: {by_id.keys() - known}")


async def _check_events(site: Installation, load: Load, found: Found) -> None:
    """No row without its events, no event without its row, and each was delivered."""
    query = sa.select(events.c.record_id, events.c.name).where(events.c.collection == "posts")
    happened: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for record_id, name in await rows_of(site, query):
        happened[record_id][name] += 1
    found.records += len(happened)
    posts = tables["posts"]
    rows = await rows_of(site, sa.select(posts.c.id, posts.c.title))
    alive = {each for each, title in rows if title not in load.ledger.doubtful_imports}
    for each in alive | {post.id for post in load.ledger.posts if post.id}:
        found.expect(happened[each]["post.created"] >= 1, f"{each}: {happened[each]}")
    for each, names in happened.items():
        # A restored post is created again.
        there = names["post.created"] - names["post.deleted"]
        found.expect(there == (each in alive), f"{each}: {names}, there: {each in alive}")
    sent: defaultdict[str, set[str]] = defaultdict(set)
    for request in site.receiver.requests:
        sent[request.headers["x-service-event"]].add(request.headers["x-service-delivery"])
    stored = Counter(name for names in happened.values() for name in names.elements())
    for name, ids in sent.items():
        found.expect(len(ids) == stored[name], f"{name}: {len(ids)} sent, {stored[name]} stored")
    found.expect(sent.keys() == stored.keys(), f"{stored.keys() - sent.keys()} were never sent")


async def _check_files(site: Installation, load: Load, found: Found) -> None:
    media = tables["media"]
    names = Counter(row[0] for row in await rows_of(site, sa.select(media.c.alt)))
    found.records += names.total()
    ledger = load.ledger
    for name in ledger.files:
        found.expect(names[name] == 1, f"the file {name} is there {names[name]} times")
    for name in ledger.deleted_files:
        found.expect(names[name] == 0, f"the deleted file {name} is there")
    found.expect(names.keys() <= ledger.doubtful_files | {""}, f"files: {names.keys()}")


async def _check_members(site: Installation, load: Load, found: Found) -> None:
    members = tables["blog_members"]
    rows = await rows_of(site, sa.select(members.c.email, members.c.tier))
    found.records += len(rows)
    paid = Counter(email for email, tier in rows if tier == "paid")
    for email in load.ledger.payers:
        found.expect(paid[email] == 1, f"{email} has paid and is {paid[email]} paid members")
    there = Counter(email for email, _ in rows)
    for email in load.ledger.joined:
        found.expect(there[email] == 1, f"{email} has joined and is {there[email]} members")
    lists = tables["member_imports"].c
    ended = dict(map(tuple, await rows_of(site, sa.select(lists.id, lists.status))))
    for page, emails in load.ledger.lists.items():
        # One that has failed says so to the person who waits for it.
        if ended.get(page.rpartition("/")[2]) != "failed":
            missing = [each for each in emails if there[each] != 1]
            found.expect(not missing, f"{page} is done, without {missing}")


async def _check_erased(site: Installation, load: Load, found: Found) -> None:
    """Deleted at once or not at all, and then with everything that is known of them."""
    members, requests = tables["blog_members"].c, tables["gdpr_requests"].c
    asked = sa.select(requests.status).where(requests.type == "delete")
    statuses = [status for (status,) in await rows_of(site, asked)]
    rows = await rows_of(site, sa.select(members.email).where(members.email.like("%@leaves.%")))
    there = {email for (email,) in rows}
    gone, erased = load.ledger.leavers - there, load.ledger.erased
    found.records += len(statuses)
    found.expect(gone >= erased, f"erased and still there: {erased & there}")
    found.expect(
        statuses == ["completed"] * len(gone), f"{len(gone)} are gone, erasures: {statuses}"
    )
    payload = sa.cast(events.c.payload, sa.Text)
    told = await rows_of(site, sa.select(payload).where(payload.like("%@leaves.%")))
    traces = " ".join(each for (each,) in told)
    left = [each for each in gone if each in traces]
    found.expect(not left, f"events name people who were erased: {left}")


async def _check_tasks(site: Installation, load: Load, found: Found) -> None:
    """Each export and import has ended. A file that is offered is whole."""
    requests, exports = tables["gdpr_requests"].c, tables["site_exports"]
    runs = tables["import_runs"].c
    for run_id, task, state in await rows_of(site, sa.select(runs.id, runs.task, runs.state)):
        found.expect(state not in ("queued", "running"), f"the {task} {run_id} has not ended")
        found.records += 1
    asked = sa.select(requests.status).where(requests.type == "export")
    statuses = Counter(status for (status,) in await rows_of(site, asked))
    personal = f"{load.ledger.exports} exports of personal data: {statuses}"
    found.expect(statuses.total() >= load.ledger.exports and not statuses["queued"], personal)
    names = [each.name for each in exports.c]
    for row in await rows_of(site, sa.select(exports)):
        export = dict(zip(names, row, strict=True))
        found.expect(export["state"] not in ("queued", "running"), f"{export} has not ended")
        if export["state"] == "ready":
            stored = await site.world.parts.objects.get(export_key(export))
            content = b"".join([each async for each in stored.chunks])
            is_whole = len(content) == export["bytes"] and _is_readable(content)
            found.expect(is_whole, f"the file of {export} has {len(content)} bytes")
        found.records += 1
    found.records += statuses.total()


def _is_readable(content: bytes) -> bool:
    if content.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return archive.testzip() is None
    return ElementTree.fromstring(content).tag == "rss"


async def _check_views(site: Installation, load: Load, found: Found) -> None:
    """None is invented. Without kills, none is lost but those of which the service says so."""
    v = view_counts.c
    query = sa.select(sa.func.coalesce(sa.func.sum(v.views), 0)).where(v.kind == "site")
    least = 0 if site.was_killed else load.ledger.views - lost_views(site.log)
    for _ in range(int(4 * FLUSH_SECONDS)):
        [(stored,)] = await rows_of(site, query)
        if stored >= least:
            break
        await asyncio.sleep(1)
    said = f"{stored} views are stored, {load.ledger.views} were answered"
    found.expect(least <= stored <= load.ledger.views_asked, f"{said}, {least} at the least")
    found.records += load.ledger.views


async def _check_mailings(site: Installation, load: Load, found: Found) -> None:
    """Nobody got an email twice. Each reader is accounted for: an email that was being handed over
    when the service died is uncertain, not sent again."""
    columns = tables["mailings"].c
    counts = (columns.sent, columns.failed, columns.uncertain, columns.bounced)
    rows = await rows_of(site, sa.select(columns.id, columns.status, columns.recipients, *counts))
    found.records += len(rows)
    by_id = {row[0]: tuple(row[1:]) for row in rows}
    for each in load.ledger.mailings:
        found.expect(each in by_id, f"the mailing {each} is lost")
    deletions = sa.select(events.c.record_id).where(events.c.name == "post.deleted")
    deleted = {row[0] for row in await rows_of(site, deletions)}
    for each, (status, recipients, sent, *others) in by_id.items():
        ended = f"the mailing {each} is {status}: {recipients} readers, {sent} sent, {others}"
        if status == "cancelled":
            # Nobody cancels one, but a post may be deleted before its mailing ends.
            post_id = load.ledger.mailings.get(each)
            posts = load.ledger.doubtful_mailings if post_id is None else {post_id}
            found.expect(not deleted.isdisjoint(posts), f"{ended}; none of {posts} was deleted")
            continue
        found.expect(status == "sent" or not sent, ended)
        found.expect(recipients == sent + sum(others), ended)
    letters = [each for each in site.postbox.letters if each["list-unsubscribe"]]
    got = Counter((str(letter["subject"]), str(letter["to"])) for letter in letters)
    for mail, times in got.items():
        found.expect(times == 1, f"{mail} came {times} times")
    sent = sum(row[2] for row in by_id.values())
    found.expect(len(letters) >= sent, f"{sent} newsletters are sent, {len(letters)} came")


Step = Callable[[Installation, Load, Found], Awaitable[None]]
STEPS: tuple[Step, ...] = (
    _check_posts,
    _check_events,
    _check_files,
    _check_members,
    _check_erased,
    _check_tasks,
    _check_mailings,
    _check_views,
)


async def check_whole(site: Installation, found: Found) -> None:
    """Checks what `masthead doctor --deep` checks: counters, lists, relations, files,
    orphans, deliveries."""
    settings = site.world.parts.settings
    done = await deep_check(settings, site.clock)
    found.records += sum(done.checked.values())
    found.losses += [str(each) for each in done.faults]
    path = sqlite_path(settings.database_url)
    if path is not None:
        with closing(sqlite3.connect(path)) as connection:
            for pragma in ("integrity_check", "foreign_key_check"):
                rows = connection.execute(f"PRAGMA {pragma}").fetchall()
                found.expect(rows in ([], [("ok",)]), f"{pragma}: {rows[:5]}")
