"""Related posts: for each published post, the others that share its tags and words.

A chore works them out for the posts that have changed, some seconds after the change: it costs a
change nothing. It goes through the posts in the order of `updated`, so that it also finds posts
whose tag was renamed, and those that an import has brought. A post that is related is also put into
the lists of the posts that it is related to. Who may see which is decided when a page is read.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from math import log
from typing import Final

import msgspec

from masthead.base import clock
from masthead.base.caller import Caller, system
from masthead.base.ids import TenantId
from masthead.content.texts.publication import PUBLISHED
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.engine.records.filter.conditions import all_of, equals
from masthead.engine.records.read.page import ListRequest
from masthead.engine.records.search.terms import UNSPACED, words_of
from masthead.features.posts.collection import posts
from masthead.features.posts.related_rows import Mark, RelatedRows, Scores
from masthead.features.posts.site import TAG_LIST, of_edition, tag_slug

EVERY: Final = timedelta(seconds=15)
MOST: Final = 9
"""Related posts that are stored. A page shows the first few that its reader may see."""
SECONDS: Final = 0.15
"""Time of one run: an import of many posts must not take the process from its readers."""
_BATCH: Final = 20
"""Posts of a site before the next site has its turn."""
_LATE: Final = timedelta(seconds=10)
"""After so long no change is committed any more with an earlier `updated`."""
_SITES: Final = 500
_TAGS, _WITH_TAG = 5, 15
_WORDS, _WITH_WORD = 3, 8
_FIELDS: Final = frozenset(
    {
        *("title", "excerpt", "summary", "tags", "edition"),
        *("status", "email_only", "published_at", "updated"),
    }
)
_SHORTEST: Final = 4
"""Letters of a word that says something. Shorter ones are mostly "the" and "and"."""
_UNSPACED_PAIR: Final = re.compile(rf"(?=({UNSPACED.pattern}{{2}}))")
_TAG_WEIGHT, _TITLE_WEIGHT, _TEXT_WEIGHT = 2.0, 1.0, 0.3


class _Subject(msgspec.Struct, frozen=True):
    """The tags and words of a post."""

    tags: frozenset[str]
    title: frozenset[str]
    text: frozenset[str]

    @property
    def parts(self) -> frozenset[str]:
        return self.tags | self.title | self.text


class _Turn(msgspec.Struct):
    """Some changed posts of one site. Posts on one subject share tags and words, so most of what
    one looks for has been found for another; and all lists are one change of the site, because
    every change makes its cached pages and answers invalid."""

    caller: Caller
    tenant_id: TenantId
    lists: dict[str, Scores] = msgspec.field(default_factory=dict)
    """The stored lists that were read, as they will be."""
    changed: set[str] = msgspec.field(default_factory=set)
    """The posts whose lists are to be written."""
    found: dict[ListRequest, list[tuple[str, _Subject]]] = msgspec.field(default_factory=dict)

    def put(self, post_id: str, scores: Scores) -> None:
        if scores != self.lists[post_id]:
            self.lists[post_id] = scores
            self.changed.add(post_id)


class RelatedPosts:
    def __init__(self, records: Records) -> None:
        self._records = records
        self.seconds = SECONDS
        self._subjects: dict[tuple[str, str, str], _Subject] = {}
        """The tags and words of posts that a run has read, by site, id and `updated`."""
        self._turns: dict[TenantId, str] = {}
        """When each site with more than one turn's work had its last one."""

    @cached_property
    def _rows(self) -> RelatedRows:
        # With the first page or run: writing its statements would slow down every start.
        return RelatedRows(self._records.database)

    async def ids_of(self, tenant_id: TenantId, post_id: str) -> list[str]:
        """The nearest first. Some may not be published any more."""
        return [*await self._rows.read(tenant_id, post_id)]

    async def sweep(self) -> None:
        """Removes what was worked out for posts that are deleted for good."""
        await self._rows.remove_lost()

    async def refresh(self) -> None:
        """The posts that have changed since the last run, as far as the time of a run reaches."""
        until = time.monotonic() + self.seconds
        try:
            marks = await self._rows.changed_sites(_SITES)
            # A site that is through had its last turn at the time of its mark.
            for mark in sorted(
                marks, key=lambda each: self._turns.get(each.tenant_id, each.updated)
            ):
                await self._refresh_site(mark, until)
                if time.monotonic() > until:
                    return
        finally:
            self._subjects.clear()

    async def _refresh_site(self, mark: Mark, until: float) -> None:
        caller, now = system(mark.tenant_id), self._records.clock()
        latest = clock.to_text(now - _LATE)
        if mark.updated > clock.to_text(now):
            # The clock has gone back: what changes from now on comes before the mark.
            mark = msgspec.structs.replace(mark, updated=latest, post_id="")
        after = (mark.updated, mark.post_id) if mark.updated else None
        wanted = ListRequest(
            per_page=_BATCH, sort="updated", after=after, names=_FIELDS, skip_total=True
        )
        found = (await self._records.page(caller, posts, wanted)).items
        turn, done = _Turn(caller, mark.tenant_id), 0
        for each in found:
            await self._refresh_post(turn, each)
            done += 1
            if time.monotonic() > until:
                break
        if turn.changed:
            await self._write(turn)
        if done == len(found) < _BATCH:
            # What is committed late is looked at again with the next change of the site.
            place = (max(mark.updated, latest), "")
            version = mark.version + bool(turn.changed)
            self._turns.pop(mark.tenant_id, None)
        else:
            place = (found[done - 1]["updated"], found[done - 1]["id"])
            # There are more: the next run begins here.
            version = -1
            self._turns[mark.tenant_id] = clock.to_text(now)
        await self._rows.write_mark(Mark(mark.tenant_id, version, *place))

    async def _refresh_post(self, turn: _Turn, post: Record) -> None:
        before = await self._list(turn, post["id"])
        is_shown = post["status"] == PUBLISHED and not post["email_only"]
        after = await self._find(turn, post) if is_shown else {}
        turn.put(post["id"], after)
        for other in before.keys() | after.keys():
            theirs = await self._list(turn, other)
            turn.put(other, _with_score(theirs, post["id"], after.get(other)))

    async def _list(self, turn: _Turn, post_id: str) -> Scores:
        if post_id not in turn.lists:
            turn.lists[post_id] = await self._rows.read(turn.tenant_id, post_id)
        return turn.lists[post_id]

    async def _find(self, turn: _Turn, post: Record) -> Scores:
        subject = self._subject(turn.tenant_id, post)
        found: dict[str, _Subject] = {}
        for wanted in _searches(post, subject):
            if wanted not in turn.found:
                items = (await self._records.page(turn.caller, posts, wanted)).items
                turn.found[wanted] = [
                    (each["id"], self._subject(turn.tenant_id, each)) for each in items
                ]
            found.update(turn.found[wanted])
        found.pop(post["id"], None)
        return nearest(subject, found)

    async def _write(self, turn: _Turn) -> None:
        async with self._records.unit(turn.caller, emit_events=False) as unit:
            there = await unit.existing(posts, sorted(turn.changed), by="id")
            for post_id in sorted(turn.changed & there):
                await self._rows.write(unit, post_id, turn.lists[post_id])

    def _subject(self, tenant_id: TenantId, post: Record) -> _Subject:
        key = tenant_id, post["id"], post["updated"]
        known = self._subjects.get(key)
        if known is None:
            known = self._subjects[key] = _subject(post)
        return known


def _searches(post: Record, subject: _Subject) -> Iterable[ListRequest]:
    """The newest posts of each tag, and those with one of the longest words of the title, in the
    language of the post."""
    for tag in _tags(post)[:_TAGS]:
        listing = of_edition((TAG_LIST, tag_slug(tag)), post["edition"])
        yield ListRequest(per_page=_WITH_TAG, listing=listing, names=_FIELDS, skip_total=True)
    wanted = {"status": PUBLISHED, "email_only": False, "edition": post["edition"]}
    shown = all_of([equals(name, value) for name, value in wanted.items()]) or ""
    for word in sorted(subject.title, key=lambda each: (-len(each), each))[:_WORDS]:
        yield ListRequest(
            per_page=_WITH_WORD, search=f'"{word}"', filter=shown, names=_FIELDS, skip_total=True
        )


def nearest(subject: _Subject, others: Mapping[str, _Subject]) -> Scores:
    """Weighs what few have in common more than what many have."""
    total, own = len(others), subject.parts
    frequency = Counter(part for each in others.values() for part in own & each.parts)
    weights = {part: log(1 + total / number) for part, number in frequency.items()}

    def weight(shared: frozenset[str]) -> float:
        return sum(weights[part] for part in shared)

    scores = {
        post_id: round(
            _TAG_WEIGHT * weight(subject.tags & each.tags)
            + _TITLE_WEIGHT * weight(subject.title & each.title)
            + _TEXT_WEIGHT * weight((subject.title | subject.text) & (each.title | each.text)),
            3,
        )
        for post_id, each in others.items()
    }
    return _best(scores)


def _best(scores: Scores) -> Scores:
    ordered = sorted(scores.items(), key=lambda each: (-each[1], each[0]))
    return {post_id: score for post_id, score in ordered[:MOST] if score > 0}


def _with_score(scores: Scores, post_id: str, score: float | None) -> Scores:
    others = {each: value for each, value in scores.items() if each != post_id}
    return _best(others if score is None else {**others, post_id: score})


def _subject(post: Record) -> _Subject:
    # With a mark: a tag is no word.
    tags = frozenset(f"#{tag_slug(each)}" for each in _tags(post))
    text = f"{post['excerpt']} {post['summary']}"
    return _Subject(tags, _words(post["title"]), _words(text))


def _tags(post: Record) -> Sequence[str]:
    given = post["tags"]
    # In what the engine reads for answers, a list is still JSON.
    found: Sequence[str] = msgspec.json.decode(given) if isinstance(given, msgspec.Raw) else given
    return found


def _words(text: str) -> frozenset[str]:
    found = {word for word in words_of(text) if len(word) >= _SHORTEST}
    if not text.isascii():
        found.update(_UNSPACED_PAIR.findall(text))
    return frozenset(found)
