"""Does the same to the engine and to the model, and compares what both say."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)
from tests.engine.records.model.memory import (
    CONFLICT,
    EDITORS,
    INVALID,
    MISSING,
    OK,
    READERS,
    REFUSED,
    WRITERS,
    Memory,
    Post,
    Refusal,
)
from tests.world import START, TenantWorld, World

from masthead.base import clock
from masthead.base.caller import Audience, Caller, Kind, Reader, guest, site, system
from masthead.base.errors import Conflict, Forbidden, Invalid, NotFound, Unauthenticated
from masthead.engine.jobs.runner import JobRunner
from masthead.engine.records.collection import Record
from masthead.engine.records.read.page import ListRequest
from masthead.features.posts.collection import posts
from masthead.features.trash.collection import trash
from masthead.features.undo.undoing import Steps, undo
from masthead.identity.tenants import superusers
from masthead.service.deep_check.faults import Look
from masthead.service.deep_check.progress_file import Progress
from masthead.service.deep_check.run import DeepCheck

KINDS = {
    "owner": Kind.OWNER,
    "editor": Kind.EDITOR,
    "ann": Kind.AUTHOR,
    "ben": Kind.AUTHOR,
    "cas": Kind.CONTRIBUTOR,
}
TEXT = '<p>Open</p><hr class="paywall"><p>Closed</p>'
KINDS_OF_ERRORS = {
    Unauthenticated: REFUSED,
    Forbidden: REFUSED,
    NotFound: MISSING,
    Conflict: CONFLICT,
    Invalid: INVALID,
}

Result = TypeVar("Result")

staff = st.sampled_from([*EDITORS, *WRITERS])
anyone = st.sampled_from([*EDITORS, *WRITERS, "guest", "member"])
titles = st.sampled_from(["Fog", "Fog over the sea", "Sunshine"])
tags = st.lists(st.sampled_from(["Sea", "Wind"]), unique=True, max_size=2).map(tuple)
minutes = st.integers(-5, 60)


@st.composite
def changes(draw: st.DrawFn) -> dict[str, Any]:
    """Values that a caller gives; `scheduled_for` in minutes from now."""
    optional = {
        "title": titles,
        "status": st.sampled_from(["draft", "published"]),
        "visibility": st.sampled_from(["public", "members", "paid"]),
        "tags": tags,
        "tiers": st.sampled_from([(), ("gold",)]),
        "email_only": st.booleans(),
        "scheduled_for": st.none() | minutes,
    }
    return draw(st.fixed_dictionaries({}, optional=optional))


class Thread:
    """An event loop of its own: a machine has no coroutines."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(120)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class EngineMachine(RuleBasedStateMachine):
    """The test sets the world with its thread and jobs, and what the deep check works with."""

    world: World
    thread: Thread
    look: Look
    jobs: JobRunner

    made = Bundle("made")

    @initialize(target=made, given=changes())
    def begin(self, given: dict[str, Any]) -> Any:
        self.world.clock.moment = START
        self.memory = Memory(START)
        self.names: dict[str, str] = {}
        self.batch = ""
        self.thread.run(self._begin())
        given = {each: given[each] for each in given if each not in ("tiers", "scheduled_for")}
        return multiple(self.create("ann", "Fog", given), self.create("owner", "Sunshine", given))

    async def _begin(self) -> None:
        self.tenant: TenantWorld = await self.world.new_tenant("model")
        self.callers = {"guest": guest(self.tenant.id)}
        member = await self.tenant.member()
        self.callers["member"] = Caller(Kind.MEMBER, self.tenant.id, member.id)
        create = self.world.parts.records.create
        for name, kind in KINDS.items():
            person = await create(
                system(self.tenant.id),
                superusers,
                {"email": f"{name}@example.com", "name": name, "role": kind.value},
                stamped={"password_hash": "x", "token_key": name},
            )
            self.callers[name] = Caller(kind, self.tenant.id, person["id"])
            self.names[person["id"]] = name
        tier = await self.tenant.create("tiers", {"name": "Gold", "price": 500, "currency": "eur"})
        self.names[tier["id"]] = "gold"
        self.ids = {name: record_id for record_id, name in self.names.items()}
        # Creating a record in a test moves the clock.
        self.memory.now = self.world.clock.moment

    # The rules.

    @rule(target=made, caller=anyone, title=titles, given=changes())
    def make(self, caller: str, title: str, given: dict[str, Any]) -> Any:
        made = self.create(caller, title, given)
        return made or multiple()

    def create(self, caller: str, title: str, given: dict[str, Any]) -> str:
        given = self._timed({**given, "title": title})
        expected = self._expected(lambda: self.memory.check_create(caller, given))
        found, record = self._outcome(
            self.world.parts.records.create(self.callers[caller], posts, self._sent(given))
        )
        assert found == expected
        if record is None:
            return ""
        self.memory.create(caller, record["id"], given)
        return str(record["id"])

    @rule(caller=anyone, post_id=made, given=changes(), stale=st.sampled_from([None, 0, 1]))
    def update(self, caller: str, post_id: str, given: dict[str, Any], stale: int | None) -> None:
        given = self._timed(given)
        known = self.memory.posts.get(post_id) or Post(post_id, "")
        version = None if stale is None else known.version + stale
        expected = self._expected(lambda: self.memory.check_update(caller, post_id, given, version))
        found, _ = self._outcome(
            self.world.parts.records.update(
                self.callers[caller],
                posts,
                post_id,
                self._sent(given),
                expected_version=version,
            )
        )
        assert found == expected
        if found == OK:
            self.memory.update(post_id, given)

    @rule(caller=anyone, post_id=made)
    def delete(self, caller: str, post_id: str) -> None:
        expected = self._expected(lambda: self.memory.check_delete(caller, post_id))
        found, _ = self._outcome(
            self.world.parts.records.delete(self.callers[caller], posts, post_id)
        )
        assert found == expected
        if found == OK:
            self.memory.delete(post_id)

    @rule(caller=staff, post_id=made)
    def restore(self, caller: str, post_id: str) -> None:
        if post_id not in self.memory.trash:
            return
        expected = self._expected(lambda: self.memory.check_restore(caller, post_id))
        found, _ = self._outcome(self._restore(caller, post_id))
        assert found == expected
        if found == OK:
            self.memory.restore(post_id)

    async def _restore(self, caller: str, post_id: str) -> None:
        async with self.world.parts.records.unit(self.callers[caller]) as unit:
            await unit.restore(post_id)

    @rule(post_id=consumes(made))
    def purge(self, post_id: str) -> None:
        if post_id not in self.memory.trash:
            return
        records = self.world.parts.records
        self.thread.run(records.delete(self.callers["owner"], trash, post_id))
        self.memory.purge(post_id)

    @rule(length=st.integers(1, 45))
    def let_time_pass(self, length: int) -> None:
        self.world.clock.advance(minutes=length)
        self.memory.now += timedelta(minutes=length)
        self.thread.run(self.jobs.run_due())
        self.memory.publish_due()

    @rule(
        chosen=st.sets(made, min_size=1, max_size=3),
        given=st.fixed_dictionaries(
            {}, optional={"tags": tags, "title": titles, "email_only": st.booleans()}
        ),
        deletes=st.booleans(),
    )
    def change_many(self, chosen: set[str], given: dict[str, Any], deletes: bool) -> None:
        there = sorted(each for each in chosen if each in self.memory.posts)
        self.batch = self.thread.run(self._change_many(there, given, deletes))
        if deletes:
            self.memory.delete_many(there)
        else:
            self.memory.change_many(there, given)

    async def _change_many(self, there: list[str], given: dict[str, Any], deletes: bool) -> str:
        steps = Steps(self.callers["owner"], posts, tuple(given))
        async with self.world.parts.records.unit(self.callers["owner"]) as unit:
            for each in there:
                old = await unit.find_one(posts, {"id": each})
                assert old is not None
                if deletes:
                    await unit.delete(posts, each)
                    steps.note_deletion(old)
                else:
                    steps.note_change(old, await unit.update(posts, each, self._sent(given)))
            steps.save(unit)
        return steps.batch

    @rule()
    def undo(self) -> None:
        if self.batch:
            self.thread.run(undo(self.world.parts.records, self.callers["owner"], self.batch))
            self.memory.undo()

    @rule(caller=st.sampled_from([*EDITORS, *WRITERS, "guest"]), tag=st.sampled_from(["", "Sea"]))
    def list(self, caller: str, tag: str) -> None:
        wanted = ListRequest(per_page=100, filter=f"tags ?= '{tag}'" if tag else "")
        page = self._page(self.callers[caller], wanted)
        expected = {
            each
            for each in self.memory.listed(caller)
            if not tag or tag in self.memory.posts[each].tags
        }
        assert {each["id"] for each in page.items} == expected
        assert page.total == len(expected)

    @rule(reader=st.sampled_from(READERS))
    def read_on_the_site(self, reader: str) -> None:
        audience = (Audience.GUEST, Audience.FREE, Audience.PAID, Audience.PAID)
        level = self.ids["gold"] if reader == "gold" else ""
        seen_by = Reader(audience[READERS.index(reader)], level)
        page = self._page(site(self.tenant.id, seen_by), ListRequest(per_page=100))
        assert {each["id"]: each["is_open"] for each in page.items} == self.memory.on_the_site(
            reader
        )
        for each in page.items:
            assert ("Closed" in each["content_html"]) == each["is_open"]

    @rule(word=st.sampled_from(["fog", "sunshine", "sea"]))
    def search(self, word: str) -> None:
        wanted = ListRequest(per_page=100, search=word)
        page = self._page(self.callers["owner"], wanted)
        while not page.is_complete:  # On a busy machine the index may need more than one search.
            page = self._page(self.callers["owner"], wanted)
        expected = {
            each.id
            for each in self.memory.posts.values()
            if word in f"{each.title} {' '.join(each.tags)}".lower().split()
        }
        assert {each["id"] for each in page.items} == expected
        assert page.total == len(expected)

    @invariant()
    def every_post_is_as_in_the_model(self) -> None:
        if not hasattr(self, "memory"):
            return
        records = self.world.parts.records
        found = self.thread.run(records.find(posts, {}, tenant_id=self.tenant.id, limit=200))
        assert {each["id"]: self._as_modelled(each) for each in found} == self.memory.posts
        assert len({each["slug"] for each in found}) == len(found)

    def teardown(self) -> None:
        if hasattr(self, "memory"):
            self.thread.run(self._compare_the_rest())

    async def _compare_the_rest(self) -> None:
        parts = self.world.parts
        entries = await parts.records.first(system(self.tenant.id), trash, 200)
        assert {each["record_id"] for each in entries} == self.memory.trash.keys()
        happened: dict[str, list[str]] = {}
        for name, payload in await self.tenant.events():
            if name.startswith("post."):
                happened.setdefault(payload["post_id"], []).append(name)
        assert happened == self.memory.events
        check = DeepCheck(self.look, Progress(), False, lambda _kind, _number: None, lambda _: None)
        assert (await check.run(self.tenant.slug)).faults == []

    # Between both.

    def _page(self, caller: Caller, wanted: ListRequest) -> Any:
        return self.thread.run(self.world.parts.records.page(caller, posts, wanted))

    def _timed(self, given: dict[str, Any]) -> dict[str, Any]:
        if "scheduled_for" not in given:
            return given
        length = given["scheduled_for"]
        at = "" if length is None else clock.to_text(self.memory.now + timedelta(minutes=length))
        return {**given, "scheduled_for": at}

    def _sent(self, given: dict[str, Any]) -> dict[str, Any]:
        sent = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in given.items()
        }
        if "tiers" in sent:
            sent["tiers"] = [self.ids[each] for each in sent["tiers"]]
        return sent | ({"content_html": TEXT} if "title" in given else {})

    def _as_modelled(self, record: Record) -> Post:
        names = [name for name in vars(Post("", "")) if name not in ("tags", "authors", "tiers")]
        named = {name: tuple(self._named(record[name])) for name in ("tags", "authors", "tiers")}
        return replace(Post("", ""), **{name: record[name] for name in names}, **named)

    def _named(self, values: list[str]) -> list[str]:
        return [self.names.get(each, each) for each in values]

    def _expected(self, check: Callable[[], None]) -> str:
        try:
            check()
        except Refusal as refusal:
            return refusal.kind
        return OK

    def _outcome(self, work: Coroutine[Any, Any, Result]) -> tuple[str, Result | None]:
        try:
            return OK, self.thread.run(work)
        except tuple(KINDS_OF_ERRORS) as error:
            kinds = (name for kind, name in KINDS_OF_ERRORS.items() if isinstance(error, kind))
            return next(kinds), None
