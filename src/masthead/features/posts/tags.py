"""Renames, merges and removes a tag on all posts that have it.

A tag is a record, and its name a word in the posts' own lists. The record changes at once. A job
changes the posts in batches, each in a transaction of its own, so that other writers get their
turn. It looks for posts that still have the tag: after a crash it goes on where it was, and a
second run finds nothing to do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from masthead.base.caller import Caller, system
from masthead.base.errors import Invalid, Problem
from masthead.base.languages.words import staff_words
from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.links.moves import Move, redirect
from masthead.engine.records.collection import Collection, Index, Record, Rules
from masthead.engine.records.engine import Records
from masthead.engine.records.fields.base import Access
from masthead.engine.records.fields.text import Text
from masthead.engine.records.fields.values import Number
from masthead.engine.records.filter.conditions import has_item
from masthead.engine.records.read.page import ListRequest
from masthead.engine.records.write.unit import Unit
from masthead.engine.records.write.validation import NewRecord
from masthead.features.posts.collection import post_working_copies, posts
from masthead.features.posts.site import TAG_LIST, tag_slug
from masthead.features.posts.tag_records import POST_TAGS, tags

CHANGE_JOB = "tags.change"
SLUG_JOB = "tags.make_slugs"
BATCH = 100
MAX_SHOWN = 50
_FEEDS = ("", "/feed.xml", "/atom.xml", "/feed.json")

tag_changes = Collection(
    "tag_changes",
    (
        Text(name="tag", required=True, max=POST_TAGS.max_length),
        Text(
            name="new_tag",
            max=POST_TAGS.max_length,
            # Forms separate tags by commas.
            pattern=re.compile(r"[^,]*"),
            allowed=staff_words("A tag can't contain a comma."),
            help="The tag that the posts get instead. If empty, none.",
        ),
        Number(name="total", write=Access.ENGINE, help="The posts that had the tag at the start."),
    ),
    help="Tags that are being renamed, merged or removed at the moment.",
    editors=Rules(read="", create=""),
    made_by="the admin's list of tags",
    audited="tag",
    indexes=(Index(("tag",), unique=True),),
    called=staff_words("changes of tags"),
)


class Progress(msgspec.Struct, frozen=True):
    """The progress of a change that is under way."""

    tag: str
    new_tag: str
    done: int
    total: int


async def posts_with(records: Records, caller: Caller, tag: str) -> int:
    """How many posts have the tag. 0 for one who may not read all of them."""
    # PostgreSQL would refuse it.
    if "\0" in tag:
        return 0
    found = await records.counts.of_items(caller, posts, POST_TAGS.name, [tag])
    return found.get(tag, 0)


async def change_tag(records: Records, caller: Caller, tag: str, new_tag: str = "") -> None:
    """Begins the change; without a new tag the old one is removed. A change that has begun already
    is taken up again."""
    # Before anything is looked for: PostgreSQL would refuse NUL.
    NewRecord.checked(caller, tag_changes, {"tag": tag, "new_tag": new_tag})
    total = await posts_with(records, caller, tag)
    async with records.unit(caller) as unit:
        for running in await unit.find(tag_changes, {"tag": tag, "new_tag": new_tag}, limit=1):
            await unit.enqueue(CHANGE_JOB, {"id": running["id"]})
            return
        await check_alone(unit, tag, new_tag)
        record = await unit.require(tags, {"name": tag})
        await begin_change(unit, record, new_tag, total)
        if new_tag and not await unit.find(tags, {"name": new_tag}, limit=1):
            await unit.by_service().update(tags, record["id"], {}, stamped={"name": new_tag})
        else:
            await unit.by_service().delete(tags, record["id"])


async def begin_change(unit: Unit, record: Record, new_tag: str, total: int) -> None:
    """Begins the change of the posts and working copies with the tag, after `check_alone`.
    `total`: so many posts have it. The caller changes the record, in the same transaction."""
    given = {"tag": record["name"], "new_tag": new_tag}
    change = await unit.create(tag_changes, given, stamped={"total": total})
    await unit.enqueue(CHANGE_JOB, {"id": change["id"]})


async def check_alone(unit: Unit, tag: str, new_tag: str) -> None:
    """Two changes that give and take the same tag might never end."""
    if new_tag == tag:
        raise _refused("same", staff_words("The tag already has this name. Choose another one."))
    running = await unit.find(tag_changes, {"tag": tag}, limit=1)
    if running or await unit.find(tag_changes, {"new_tag": tag}, limit=1):
        raise _refused("busy", _busy(tag))
    if new_tag and await unit.find(tag_changes, {"tag": new_tag}, limit=1):
        raise _refused("busy", _busy(new_tag))


def _busy(tag: str) -> str:
    return staff_words("“%(tag)s” is being changed. Wait until that is done.", tag=tag)


def _refused(code: str, sentence: str) -> Invalid:
    return Invalid({"new_tag": Problem(f"validation_tag_{code}", sentence)})


async def changes_under_way(records: Records, caller: Caller) -> list[Progress]:
    found = await records.first(caller, tag_changes, MAX_SHOWN)
    names = [each["tag"] for each in found]
    left = await records.counts.of_items(caller, posts, POST_TAGS.name, names)
    return [_progress(each, left.get(each["tag"], 0)) for each in found]


def _progress(change: Record, left: int) -> Progress:
    total = change["total"]
    return Progress(change["tag"], change["new_tag"], max(total - left, 0), total)


def handlers(records: Records) -> Mapping[str, Handler]:
    async def change(job: Job) -> None:
        """`tags.change`: until no post and no working copy has the tag."""
        wanted = {"id": job.payload["id"]}
        found = await records.find_one(tag_changes, wanted, tenant_id=job.tenant_id)
        if not found:
            return
        while await change_some(records, system(job.tenant_id), found):
            pass

    async def make_slugs(job: Job) -> None:
        """`tags.make_slugs`: for tags that were made by a migration."""
        caller = system(job.tenant_id)
        while found := await records.find(tags, {"slug": ""}, tenant_id=job.tenant_id, limit=BATCH):
            async with records.unit(caller) as unit:
                for tag in await unit.find_some(tags, [each["id"] for each in found]):
                    await unit.stamp(tags, tag, {})

    return {CHANGE_JOB: change, SLUG_JOB: make_slugs}


async def change_some(records: Records, caller: Caller, change: Record) -> bool:
    """One batch. False after the last one."""
    wanted = ListRequest(
        per_page=BATCH,
        filter=has_item("tags", change["tag"]),
        names=frozenset({"id"}),
        skip_total=True,
    )
    tagged = (await records.page(caller, posts, wanted)).items
    # Of posts that do not have the tag themselves.
    copies = [] if tagged else (await records.page(caller, post_working_copies, wanted)).items
    is_done = not tagged and not copies
    has_address = is_done and await _has_address(records, caller, change["tag"])
    async with records.unit(caller) as unit:
        for each in tagged:
            await _change_post(unit, each["id"], change)
        for each in copies:
            for copy in await unit.find(post_working_copies, {"id": each["id"]}, limit=1):
                await unit.update(post_working_copies, copy["id"], _given(copy, change))
        if is_done:
            await _finish(unit, change, has_address=has_address)
    return not is_done


async def _change_post(unit: Unit, post_id: str, change: Record) -> None:
    """With its working copy, which stays as new as the post."""
    for post in await unit.find(posts, {"id": post_id}, limit=1):
        changed = await unit.update(posts, post_id, _given(post, change))
        for copy in await unit.find(post_working_copies, {"post_id": post_id}, limit=1):
            is_newest = copy["base_version"] == post["version"]
            stamped = {"base_version": changed["version"]} if is_newest else {}
            await unit.update(
                post_working_copies, copy["id"], _given(copy, change), stamped=stamped
            )


def _given(record: Record, change: Record) -> dict[str, Any]:
    new = [change["new_tag"]] if change["new_tag"] else []
    tags = [each for tag in record["tags"] for each in (new if tag == change["tag"] else [tag])]
    return {"tags": list(dict.fromkeys(tags))}


async def _has_address(records: Records, caller: Caller, tag: str) -> bool:
    """Whether readers find posts at the tag's address: those of a tag with the same one."""
    listing = (TAG_LIST, tag_slug(tag))
    return bool(await records.first(caller, posts, 1, listing=listing, names=frozenset({"id"})))


async def _finish(unit: Unit, change: Record, *, has_address: bool) -> None:
    """The addresses of the tag lead to those of the new one, unless another tag has them."""
    if not await unit.find(tag_changes, {"id": change["id"]}, limit=1):
        return
    await unit.delete(tag_changes, change["id"])
    if not await unit.count_listed(POST_TAGS.name, [change["tag"]], [posts.name]):
        # Of a post that got the tag meanwhile.
        for left in await unit.find(tags, {"name": change["tag"]}, limit=1):
            await unit.delete(tags, left["id"])
    old, new = tag_slug(change["tag"]), tag_slug(change["new_tag"])
    if not change["new_tag"] or old == new or has_address:
        return
    old, new = (f"/tags/{quote(each)}" for each in (old, new))
    await redirect(unit, [Move(f"{old}{page}", f"{new}{page}") for page in _FEEDS])
