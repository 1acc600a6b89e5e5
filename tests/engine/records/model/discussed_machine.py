"""Edits posts and comments on them, in the engine and in the model, and compares what both say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
)
from tests.engine.records.model.discussed import (
    APPROVED,
    DRAFT,
    PUBLISHED,
    Comment,
    Discussed,
    Text,
    Typed,
)
from tests.engine.records.model.machine import KINDS_OF_ERRORS, Thread
from tests.engine.records.model.memory import CONFLICT, MISSING, OK, REFUSED, Refusal
from tests.world import START, TenantWorld, World

from masthead.base.caller import Audience, Caller, Kind, Reader, site, system
from masthead.base.errors import WrongState
from masthead.content.texts.editing import (
    discard_copy,
    open_text,
    put_live,
    save_text,
    take_down,
)
from masthead.engine.records.read.page import ListRequest
from masthead.features.comments.collection import THREADS, comments
from masthead.features.posts.collection import POSTS, post_working_copies, posts
from masthead.identity.tenants import superusers
from masthead.service.deep_check.faults import Look
from masthead.service.deep_check.progress_file import Progress
from masthead.service.deep_check.run import DeepCheck

KINDS = {"editor": Kind.EDITOR, "ann": Kind.AUTHOR, "ben": Kind.AUTHOR}
"""Ann is the author of the posts; Ben is not."""
ERRORS = {**KINDS_OF_ERRORS, WrongState: CONFLICT}

Result = TypeVar("Result")

writers = st.sampled_from(["editor", "ann"])
typed = st.fixed_dictionaries(
    {},
    optional={
        "title": st.sampled_from(["Fog", "Wind"]),
        "excerpt": st.sampled_from(["", "Grey", "Loud"]),
    },
)
statuses = st.sampled_from([APPROVED, "pending", "spam"])


class DiscussedMachine(RuleBasedStateMachine):
    """The test sets the world with its thread, and what the deep check works with."""

    world: World
    thread: Thread
    look: Look

    written = Bundle("written")
    said = Bundle("said")

    @initialize(target=written)
    def begin(self) -> Any:
        self.world.clock.moment = START
        self.model = Discussed()
        return multiple(*self.thread.run(self._begin()))

    async def _begin(self) -> list[str]:
        self.tenant: TenantWorld = await self.world.new_tenant("discussed")
        self.records = self.world.parts.records
        self.callers = {}
        for name, kind in KINDS.items():
            values = {"email": f"{name}@example.com", "name": name, "role": kind.value}
            person = await self.records.create(
                system(self.tenant.id),
                superusers,
                values,
                stamped={"password_hash": "x", "token_key": name},
            )
            self.callers[name] = Caller(kind, self.tenant.id, person["id"])
        made = []
        for status in (PUBLISHED, PUBLISHED, DRAFT):
            post = await self.tenant.post(
                title="Sea", status=status, authors=[self.callers["ann"].id]
            )
            self.model.texts[post["id"]] = Text({"title": "Sea", "excerpt": ""}, status)
            made.append(post["id"])
        return made

    # Posts and their working copies.

    @rule(caller=writers, post=written, given=typed, replaces=st.booleans())
    def save(self, caller: str, post: str, given: Typed, replaces: bool) -> None:
        expected = self._expected(lambda: self.model.check_save(post, replaces=replaces))
        found = self._outcome(self._edit(caller, save_text, post, given=given, newer=replaces))
        assert found == expected
        if found == OK:
            self.model.save(post, given)

    @rule(caller=writers, post=written, is_live=st.booleans(), replaces=st.booleans())
    def publish(self, caller: str, post: str, is_live: bool, replaces: bool) -> None:
        expected = self._expected(lambda: self.model.check_save(post, replaces=replaces))
        change, status = (put_live, PUBLISHED) if is_live else (take_down, DRAFT)
        found = self._outcome(self._edit(caller, change, post, newer=replaces))
        assert found == expected
        if found == OK:
            self.model.change_status(post, status)

    @rule(caller=writers, post=written)
    def discard(self, caller: str, post: str) -> None:
        found = self._outcome(self._edit(caller, discard_copy, post))
        assert found == (OK if post in self.model.texts else MISSING)
        if found == OK:
            self.model.discard(post)

    @rule(post=written, given=typed)
    def edit_another_authors(self, post: str, given: Typed) -> None:
        for change in (save_text, put_live, discard_copy):
            values = {"given": given} if change is save_text else {}
            refused = self._outcome(self._edit("ben", change, post, **values))
            # An outdated copy is found before anything is changed.
            assert refused in (MISSING, REFUSED, CONFLICT)

    @rule(post=written, given=typed)
    def save_what_is_old(self, post: str, given: Typed) -> None:
        found = self._outcome(self._edit("ann", save_text, post, given=given, version="0.0"))
        assert found == (CONFLICT if post in self.model.texts else MISSING)

    @rule(post=written, given=typed, status=st.sampled_from(["", DRAFT, PUBLISHED]))
    def change_elsewhere(self, post: str, given: Typed, status: str) -> None:
        if post in self.model.texts:
            sent = {**given, **({"status": status} if status else {})}
            self.thread.run(self.tenant.update("posts", post, sent))
            self.model.change_elsewhere(post, given, status)

    async def _edit(
        self,
        caller: str,
        change: Callable[..., Coroutine[Any, Any, Any]],
        post: str,
        *,
        newer: bool = False,
        version: str = "",
        **given: Any,
    ) -> None:
        """As the admin does: the version is the one that the page was opened with."""
        editor = self.callers["editor"]
        opened = await open_text(self.records, editor, POSTS, post)
        if newer:
            given["replaces_newer"] = True
        await change(
            self.records,
            self.callers[caller],
            POSTS,
            post,
            version=version or opened.version,
            **given,
        )

    # Comments.

    @rule(target=said, post=written, status=statuses)
    def comment(self, post: str, status: str) -> Any:
        return self._comment(post, "", status)

    @rule(target=said, post=written, parent=said, status=statuses)
    def answer(self, post: str, parent: str, status: str) -> Any:
        return self._comment(post, parent, status)

    def _comment(self, post: str, parent: str, status: str) -> Any:
        expected = self._expected(lambda: self.model.check_comment(post, parent))
        values = {"post_id": post, "author_name": "Ada", "body": "Hm", "status": status}
        made: list[str] = []

        async def create() -> None:
            found = await self.tenant.create("comments", {**values, "parent_id": parent})
            made.append(found["id"])

        assert self._outcome(create()) == expected
        if not made:
            return multiple()
        self.model.comment(made[0], post, parent, status)
        return made[0]

    @rule(comment=said, status=statuses)
    def moderate(self, comment: str, status: str) -> None:
        if comment in self.model.comments:
            editor, given = self.callers["editor"], {"status": status}
            self.thread.run(self.records.update(editor, comments, comment, given))
            self.model.moderate(comment, status)

    # The trash.

    @rule(comment=said)
    def delete_comment(self, comment: str) -> None:
        if comment in self.model.comments:
            self.thread.run(self.records.delete(self.callers["editor"], comments, comment))
            self.model.delete_comment(comment)

    @rule(post=written)
    def delete_post(self, post: str) -> None:
        if post in self.model.texts:
            self.thread.run(self.records.delete(self.callers["editor"], posts, post))
            self.model.delete_post(post)

    @rule(gone=st.one_of(written, said))
    def restore(self, gone: str) -> None:
        if gone not in self.model.trash:
            return
        expected = self._expected(lambda: self.model.check_restore(gone))
        assert self._outcome(self._restore(gone)) == expected
        if expected == OK:
            self.model.restore(gone)

    async def _restore(self, gone: str) -> None:
        async with self.records.unit(self.callers["editor"]) as unit:
            await unit.restore(gone)

    # What both say.

    @invariant()
    def all_is_as_in_the_model(self) -> None:
        if hasattr(self, "model"):
            self.thread.run(self._compare())

    async def _compare(self) -> None:
        editor, model = self.callers["editor"], self.model
        found = await self.records.find(posts, {}, tenant_id=self.tenant.id, limit=200)
        opened = [await open_text(self.records, editor, POSTS, each["id"]) for each in found]
        texts = {
            each.text["id"]: Text(
                _typed(each.text),
                each.text["status"],
                _typed(each.copy) if each.copy else None,
                each.is_outdated,
            )
            for each in opened
        }
        assert texts == model.texts
        copies = await self.records.find(
            post_working_copies, {}, tenant_id=self.tenant.id, limit=200
        )
        assert len(copies) == sum(each.copy is not None for each in texts.values())
        stored = await self.records.find(comments, {}, tenant_id=self.tenant.id, limit=1_000)
        assert {
            each["id"]: Comment(
                each["post_id"],
                each["parent_id"],
                each["thread_id"],
                each["status"],
                bool(each["first_approved_at"]),
            )
            for each in stored
        } == model.comments
        for status, number in Counter(each.status for each in model.comments.values()).items():
            wanted = f"status = '{status}'"
            assert await self.records.counts.total(editor, comments, wanted) == number
        for post in model.texts:
            await self._compare_threads(post)

    async def _compare_threads(self, post: str) -> None:
        """As readers of the site see them."""
        reader = site(self.tenant.id, Reader(Audience.GUEST))
        wanted = ListRequest(per_page=200, listing=(THREADS, post))
        shown = (await self.records.page(reader, comments, wanted)).items
        assert {each["id"] for each in shown} == {
            name
            for name, each in self.model.comments.items()
            if each.post == post and each.status == APPROVED and not each.parent
        }

    def teardown(self) -> None:
        if hasattr(self, "model"):
            self.thread.run(self._compare_the_rest())

    async def _compare_the_rest(self) -> None:
        happened = Counter(
            (name, payload["comment_id"])
            for name, payload in await self.tenant.events()
            if name.startswith("comment.")
        )
        assert happened == self.model.events
        check = DeepCheck(self.look, Progress(), False, lambda _kind, _number: None, lambda _: None)
        assert (await check.run(self.tenant.slug)).faults == []

    # Between both.

    def _expected(self, check: Callable[[], None]) -> str:
        try:
            check()
        except Refusal as refusal:
            return refusal.kind
        return OK

    def _outcome(self, work: Coroutine[Any, Any, Any]) -> str:
        try:
            self.thread.run(work)
        except tuple(ERRORS) as error:
            return next(name for kind, name in ERRORS.items() if isinstance(error, kind))
        return OK


def _typed(record: Any) -> Typed:
    return {name: record[name] for name in ("title", "excerpt")}
