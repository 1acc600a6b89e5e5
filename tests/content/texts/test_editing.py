"""Editing a text: working copies, conflicts, revisions, and what readers see meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from tests.world import Account, TenantWorld, World, records_of

from masthead.base.caller import Caller, Kind
from masthead.base.errors import BadRequest, Conflict, Forbidden, Invalid, NotFound
from masthead.content.texts.editing import (
    Opened,
    discard_copy,
    open_text,
    put_live,
    restore_revision,
    save_text,
    take_down,
)
from masthead.features.posts.collection import POSTS


def document(text: str) -> dict[str, Any]:
    paragraph = {"type": "paragraph", "content": [{"type": "text", "text": text}]}
    return {"type": "doc", "content": [paragraph]}


def staff(tenant: TenantWorld, account: Account, kind: Kind = Kind.OWNER) -> Caller:
    return Caller(kind, tenant.id, account.id, account.email, "_superusers")


class Desk:
    """One person who edits one post."""

    def __init__(self, tenant: TenantWorld, caller: Caller, post_id: str) -> None:
        self._records, self._caller, self._id = tenant.world.parts.records, caller, post_id
        self.opened: Opened

    async def open(self) -> Opened:
        self.opened = await open_text(self._records, self._caller, POSTS, self._id)
        return self.opened

    async def save(self, *, replaces_newer: bool = False, **given: Any) -> Opened:
        self.opened = await save_text(
            self._records,
            self._caller,
            POSTS,
            self._id,
            version=self.opened.version,
            given=given,
            replaces_newer=replaces_newer,
        )
        return self.opened

    async def put_live(self) -> Opened:
        version = self.opened.version
        self.opened = await put_live(self._records, self._caller, POSTS, self._id, version=version)
        return self.opened

    async def take_down(self) -> Opened:
        version = self.opened.version
        self.opened = await take_down(self._records, self._caller, POSTS, self._id, version=version)
        return self.opened

    async def discard(self) -> Opened:
        version = self.opened.version
        self.opened = await discard_copy(
            self._records, self._caller, POSTS, self._id, version=version
        )
        return self.opened

    async def restore(self, revision_id: str) -> Opened:
        self.opened = await restore_revision(
            self._records,
            self._caller,
            POSTS,
            self._id,
            version=self.opened.version,
            revision_id=revision_id,
        )
        return self.opened


async def desk_of(tenant: TenantWorld, post_id: str, caller: Caller | None = None) -> Desk:
    desk = Desk(tenant, caller or staff(tenant, await tenant.owner()), post_id)
    await desk.open()
    return desk


async def revisions_of(tenant: TenantWorld, post_id: str) -> list[dict[str, Any]]:
    owner = await tenant.owner()
    path = f"{records_of('post_revisions')}?filter=post_id='{post_id}'&perPage=100&sort=-created"
    return list((await owner.api.get(path)).json()["items"])


class TestADraft:
    async def test_is_saved_itself(self, tenant: TenantWorld) -> None:
        post = await tenant.post(title="Fog")
        desk = await desk_of(tenant, post["id"])
        saved = await desk.save(title="Fog signals", content_json=document("Two blasts."))
        assert (saved.copy, saved.text["title"]) == (None, "Fog signals")
        assert saved.text["content_html"] == "<p>Two blasts.</p>"

    async def test_stays_as_it_is_when_the_same_document_is_saved_again(
        self, tenant: TenantWorld
    ) -> None:
        post = await tenant.post(title="Fog", content_json=document("Two blasts."))
        # As an earlier release has rendered it.
        await tenant.update(
            "posts",
            post["id"],
            {"content_json": document("Two."), "content_html": "<p>Two.</p>\n"},
        )
        desk = await desk_of(tenant, post["id"])
        saved = await desk.save(title="Fog signals", content_json=document("Two."))
        assert saved.text["title"] == "Fog signals"
        assert (saved.text["content_source"], saved.text["content_html"]) == (
            "json",
            "<p>Two.</p>\n",
        )
        saved = await desk.save(content_json=document("Three."))
        assert (saved.text["content_source"], saved.text["content_html"]) == (
            "json",
            "<p>Three.</p>",
        )

    async def test_is_published_with_what_was_typed(self, tenant: TenantWorld) -> None:
        post = await tenant.post(title="Fog")
        desk = await desk_of(tenant, post["id"])
        await desk.save(content_json=document("Two blasts."))
        live = await desk.put_live()
        assert (live.text["status"], live.text["content_html"]) == (
            "published",
            "<p>Two blasts.</p>",
        )
        assert (await tenant.event_names()).count("post.published") == 1


class TestAPublishedPost:
    async def test_stays_as_it_is_while_its_working_copy_changes(self, tenant: TenantWorld) -> None:
        post = await tenant.published(title="Fog", content_html="<p>Old</p>", tags=["sea"])
        before = (await tenant.guest.get(f"/posts/{post['slug']}")).text
        desk = await desk_of(tenant, post["id"])
        for text in ("N", "Ne", "New"):
            await desk.save(content_json=document(text))
        assert (await tenant.guest.get(f"/posts/{post['slug']}")).text == before
        assert "post.updated" not in await tenant.event_names()
        opened = await desk.open()
        assert (opened.values["content_html"], opened.values["tags"]) == ("<p>New</p>", ["sea"])
        assert opened.text["updated"] == post["updated"]

    async def test_is_replaced_by_its_working_copy_as_a_whole(self, tenant: TenantWorld) -> None:
        post = await tenant.published(title="Fog", content_html="<p>Old</p>")
        desk = await desk_of(tenant, post["id"])
        await desk.save(title="Fog signals", slug="fog-signals", content_json=document("New"))
        live = await desk.put_live()
        assert live.copy is None
        assert (live.text["title"], live.text["slug"]) == ("Fog signals", "fog-signals")
        assert (await desk.open()).copy is None
        assert "<p>New</p>" in (await tenant.guest.get("/posts/fog-signals")).text
        assert (await tenant.event_names()).count("post.updated") == 1

    async def test_a_working_copy_can_be_discarded(self, tenant: TenantWorld) -> None:
        post = await tenant.published(title="Fog", content_html="<p>Old</p>")
        desk = await desk_of(tenant, post["id"])
        await desk.save(title="Mist")
        await desk.discard()
        assert (await desk.open()).values["title"] == "Fog"

    async def test_html_that_was_typed_goes_live_as_html(self, tenant: TenantWorld) -> None:
        post = await tenant.published(title="Fog", content_json=document("Old"))
        desk = await desk_of(tenant, post["id"])
        await desk.save(content_html="<p>By hand</p>")
        live = await desk.put_live()
        assert (live.text["content_html"], live.text["content_source"]) == (
            "<p>By hand</p>",
            "html",
        )

    async def test_its_working_copy_is_deleted_with_it(
        self, app: World, tenant: TenantWorld
    ) -> None:
        post = await tenant.published(title="Fog")
        desk = await desk_of(tenant, post["id"])
        await desk.save(title="Mist")
        owner = await tenant.owner()
        assert (await owner.api.delete(records_of("posts", post["id"]))).status_code == 204
        copies = app.collection("post_working_copies")
        assert await app.parts.records.find(copies, {}, tenant_id=tenant.id) == []


class TestTwoPeople:
    @pytest.mark.parametrize("status", ["draft", "published"])
    async def test_the_second_save_is_a_conflict(self, tenant: TenantWorld, status: str) -> None:
        post = await tenant.post(title="Fog", status=status)
        ann, bob = await desk_of(tenant, post["id"]), await desk_of(tenant, post["id"])
        await ann.save(title="Ann's")
        with pytest.raises(Conflict):
            await bob.save(title="Bob's")
        with pytest.raises(Conflict):
            await bob.put_live()
        assert (await bob.open()).values["title"] == "Ann's"
        assert (await bob.save(title="Bob's")).values["title"] == "Bob's"

    async def test_a_change_by_an_integration_is_not_overwritten(self, tenant: TenantWorld) -> None:
        post = await tenant.published(title="Fog", content_html="<p>Old</p>")
        desk = await desk_of(tenant, post["id"])
        await desk.save(title="Mist")
        await tenant.update("posts", post["id"], {"title": "From outside"})
        opened = await desk.open()
        assert opened.is_outdated
        with pytest.raises(Conflict):
            await desk.save(title="Mist again")
        with pytest.raises(Conflict):
            await desk.put_live()
        await desk.save(title="Mist again", replaces_newer=True)
        assert (await desk.put_live()).text["title"] == "Mist again"

    async def test_the_loser_of_a_race_reads_the_winners_text(self, tenant: TenantWorld) -> None:
        post = await tenant.published(title="Fog")
        ann, bob = await desk_of(tenant, post["id"]), await desk_of(tenant, post["id"])
        await ann.save(title="Ann's")
        await ann.put_live()
        with pytest.raises(Conflict):
            await bob.save(title="Bob's")


class TestOneAccountInTwoTabs:
    """The text that a save replaces becomes a revision, although only one account has written."""

    @pytest.mark.parametrize("status", ["draft", "published"])
    async def test_the_text_that_was_not_taken_is_an_earlier_state(
        self, tenant: TenantWorld, status: str
    ) -> None:
        post = await tenant.post(title="Fog", status=status)
        caller = staff(tenant, await tenant.owner())
        one, other = [await desk_of(tenant, post["id"], caller) for _ in range(2)]
        await one.save(content_json=document("Of the first tab."))
        await other.open()
        await other.save(content_json=document("Of the second."), replaces_newer=True)
        states = [each["content_html"] for each in await revisions_of(tenant, post["id"])]
        assert states.count("<p>Of the first tab.</p>") == 1
        # The same again replaces nothing.
        await other.save(content_json=document("Of the second."), replaces_newer=True)
        assert len(await revisions_of(tenant, post["id"])) == len(states)

    async def test_each_text_that_was_live_is_an_earlier_state(self, tenant: TenantWorld) -> None:
        post = await tenant.published(title="Fog")
        desk = await desk_of(tenant, post["id"])
        for text in ("One", "Two", "Three"):
            await desk.save(content_json=document(text))
            await desk.put_live()
        states = [each["content_html"] for each in await revisions_of(tenant, post["id"])]
        assert sorted(states) == ["", "<p>One</p>", "<p>Two</p>"]

    async def test_discarded_changes_are_an_earlier_state(self, tenant: TenantWorld) -> None:
        post = await tenant.published(title="Fog")
        desk = await desk_of(tenant, post["id"])
        await desk.save(content_json=document("Never live."))
        await desk.discard()
        [state] = await revisions_of(tenant, post["id"])
        assert (state["content_html"], state["status"]) == ("<p>Never live.</p>", "changes")

    async def test_the_changes_of_another_person_are_an_earlier_state(
        self, tenant: TenantWorld
    ) -> None:
        post = await tenant.published(title="Fog")
        ann = await desk_of(tenant, post["id"])
        await ann.save(content_json=document("Of Ann."))
        bob = await desk_of(tenant, post["id"])
        for text in ("Of Bob.", "Of Bob, on."):
            await bob.save(content_json=document(text))
        states = [each["content_html"] for each in await revisions_of(tenant, post["id"])]
        assert states == ["<p>Of Ann.</p>"]

    async def test_a_new_working_copy_is_another_version_than_the_discarded_one(
        self, tenant: TenantWorld
    ) -> None:
        post = await tenant.published(title="Fog")
        ann = await desk_of(tenant, post["id"])
        await ann.save(title="Of Ann")
        bob = await desk_of(tenant, post["id"])
        await bob.discard()
        await bob.save(title="Of Bob")
        with pytest.raises(Conflict):
            await ann.save(title="Of Ann, on")


class TestADraftThatWasPublished:
    """Taken down by a change of many posts or by an integration, while it had a working copy."""

    async def test_goes_on_with_its_working_copy(self, tenant: TenantWorld) -> None:
        post = await tenant.published(title="Fog", content_html="<p>Old</p>")
        desk = await desk_of(tenant, post["id"])
        await desk.save(title="Mist")
        await tenant.update("posts", post["id"], {"status": "draft"})
        assert (await desk.open()).values["title"] == "Mist"
        await desk.save(excerpt="In short.")
        saved = await desk.save(excerpt="In short, again.")
        assert (saved.values["title"], saved.values["excerpt"]) == ("Mist", "In short, again.")
        assert (await desk.open()).version == saved.version
        assert (await desk.put_live()).text["title"] == "Mist"

    async def test_is_published_again_at_once(self, tenant: TenantWorld) -> None:
        post = await tenant.published(title="Fog")
        desk = await desk_of(tenant, post["id"])
        await desk.save(title="Mist")
        await tenant.update("posts", post["id"], {"status": "draft"})
        await desk.open()
        live = await desk.put_live()
        assert (live.text["title"], live.text["status"], live.copy) == ("Mist", "published", None)


class TestWhoMay:
    async def test_an_operator_names_the_site_first(self, app: World, tenant: TenantWorld) -> None:
        post = await tenant.post(title="Fog")
        operator = Caller(Kind.OPERATOR, None, "operator0000001")
        with pytest.raises(NotFound):
            await open_text(app.parts.records, operator, POSTS, post["id"])

    async def test_an_author_puts_a_copy_live_in_which_an_editor_named_others(
        self, tenant: TenantWorld
    ) -> None:
        author, other = await tenant.owner(role="author"), await tenant.owner(role="author")
        post = await tenant.published(title="Mine", authors=[author.id])
        editing = await desk_of(tenant, post["id"])
        await editing.save(title="Ours", authors=[author.id, other.id])
        own = await desk_of(tenant, post["id"], staff(tenant, author, Kind.AUTHOR))
        live = await own.put_live()
        assert (live.text["title"], live.text["authors"]) == ("Ours", [author.id])

    async def test_an_account_that_is_gone_is_not_put_live(self, tenant: TenantWorld) -> None:
        author, owner = await tenant.owner(role="author"), await tenant.owner()
        post = await tenant.published(title="Mine")
        desk = await desk_of(tenant, post["id"], staff(tenant, owner))
        await desk.save(authors=[author.id, owner.id])
        gone = await owner.api.delete(records_of("_superusers", author.id))
        assert gone.status_code == 204
        await desk.open()
        assert (await desk.put_live()).text["authors"] == [owner.id]

    async def test_an_author_edits_own_posts_only(self, tenant: TenantWorld) -> None:
        author = await tenant.owner(role="author")
        caller = staff(tenant, author, Kind.AUTHOR)
        own = await tenant.published(title="Mine", authors=[author.id])
        other = await tenant.published(title="Not mine")
        desk = await desk_of(tenant, own["id"], caller)
        assert (await desk.save(title="Still mine")).values["title"] == "Still mine"
        assert (await desk.put_live()).text["title"] == "Still mine"
        with pytest.raises(NotFound):
            await desk_of(tenant, other["id"], caller)
        records = tenant.world.parts.records
        for version in ("1.0", "2.0"):
            with pytest.raises((NotFound, Forbidden, Conflict)):
                await save_text(
                    records,
                    caller,
                    POSTS,
                    other["id"],
                    version=version,
                    given={"title": "Now mine"},
                )

    async def test_the_record_store_shows_copies_and_revisions_to_staff_only(
        self, tenant: TenantWorld
    ) -> None:
        post = await tenant.published(title="Fog")
        desk = await desk_of(tenant, post["id"])
        await desk.save(title="Secret plan")
        member = await tenant.member()
        for client in (tenant.guest, member.api):
            for name in ("post_working_copies", "post_revisions"):
                answer = await client.get(records_of(name))
                assert "Secret plan" not in answer.text
                assert answer.status_code in (401, 403)
        owner = await tenant.owner()
        assert "Secret plan" in (await owner.api.get(records_of("post_working_copies"))).text
        made = await owner.api.post(records_of("post_working_copies"), json={"post_id": post["id"]})
        assert made.status_code == 403

    async def test_a_field_that_is_not_the_texts_is_refused(self, tenant: TenantWorld) -> None:
        post = await tenant.post(title="Fog")
        desk = await desk_of(tenant, post["id"])
        with pytest.raises(BadRequest, match="status"):
            await desk.save(status="published")

    async def test_a_value_that_the_post_would_refuse_is_refused(self, tenant: TenantWorld) -> None:
        post = await tenant.published(title="Fog")
        desk = await desk_of(tenant, post["id"])
        with pytest.raises(Invalid):
            await desk.save(seo_title="x" * 61)


class TestRevisions:
    async def test_one_sitting_leaves_one_revision(self, app: World, tenant: TenantWorld) -> None:
        post = await tenant.post(title="v0")
        desk = await desk_of(tenant, post["id"])
        app.clock.advance(minutes=30)
        for number in range(1, 6):
            app.clock.advance(seconds=5)
            await desk.save(title=f"v{number}")
        assert [each["title"] for each in await revisions_of(tenant, post["id"])] == ["v0"]
        app.clock.advance(minutes=11)
        await desk.save(title="v6")
        found = await revisions_of(tenant, post["id"])
        assert [each["title"] for each in found] == ["v5", "v0"]
        assert found[0]["saved_by"] == desk.opened.text["edited_by"] != ""

    async def test_another_person_or_a_publication_begins_another(
        self, app: World, tenant: TenantWorld
    ) -> None:
        post = await tenant.post(title="by nobody")
        app.clock.advance(seconds=1)
        ann = await desk_of(tenant, post["id"])
        await ann.save(title="Ann's")
        app.clock.advance(seconds=1)
        bob = await desk_of(tenant, post["id"])
        await bob.save(title="Bob's")
        app.clock.advance(seconds=1)
        await bob.put_live()
        titles = [each["title"] for each in await revisions_of(tenant, post["id"])]
        assert titles == ["Bob's", "Ann's", "by nobody"]

    async def test_a_change_of_other_fields_leaves_none(
        self, app: World, tenant: TenantWorld
    ) -> None:
        post = await tenant.post(title="Fog")
        app.clock.advance(hours=1)
        await tenant.update("posts", post["id"], {"scheduled_for": "2999-01-01T00:00:00Z"})
        assert await revisions_of(tenant, post["id"]) == []

    async def test_writing_leaves_one_every_five_minutes_in_a_draft_and_in_a_working_copy(
        self, app: World, tenant: TenantWorld
    ) -> None:
        for text in (await tenant.post(title="Fog"), await tenant.published(title="Fog")):
            desk = await desk_of(tenant, text["id"])
            await desk.save(title="v0")
            before = len(await revisions_of(tenant, text["id"]))
            for second in range(20, 16 * 60, 20):
                app.clock.advance(seconds=20)
                await desk.save(title=f"at {second}")
            found = (await revisions_of(tenant, text["id"]))[: -before or None]
            assert [each["title"] for each in found] == ["at 880", "at 580", "at 280"]

    async def test_every_state_that_was_live_is_one(
        self, app: World, tenant: TenantWorld, owner: Account
    ) -> None:
        """Also where a program changes it twice in a second."""
        page = await tenant.create("pages", {"title": "v0", "status": "published"})
        for number in (1, 2, 3):
            await owner.api.patch(records_of("pages", page["id"]), json={"title": f"v{number}"})
        answer = await owner.api.get(records_of("page_revisions"))
        found = {(each["title"], each["status"]) for each in answer.json()["items"]}
        assert found == {(f"v{number}", "published") for number in (0, 1, 2)}

    async def test_a_revision_is_restored_to_a_draft(self, app: World, tenant: TenantWorld) -> None:
        post = await tenant.post(title="First", content_json=document("First"))
        app.clock.advance(hours=1)
        desk = await desk_of(tenant, post["id"])
        await desk.save(title="Second", content_json=document("Second"), slug="moved")
        (revision,) = await revisions_of(tenant, post["id"])
        restored = await desk.restore(revision["id"])
        assert restored.text["title"] == "First"
        assert restored.text["content_html"] == "<p>First</p>"
        assert restored.text["slug"] == "moved"

    async def test_of_a_published_post_it_becomes_the_working_copy(
        self, app: World, tenant: TenantWorld
    ) -> None:
        post = await tenant.published(title="First", content_html="<p>First</p>")
        app.clock.advance(hours=1)
        await tenant.update("posts", post["id"], {"content_html": "<p>Second</p>"})
        desk = await desk_of(tenant, post["id"])
        (revision,) = await revisions_of(tenant, post["id"])
        restored = await desk.restore(revision["id"])
        assert restored.values["content_html"] == "<p>First</p>"
        assert restored.text["content_html"] == "<p>Second</p>"
        assert (await desk.put_live()).text["content_html"] == "<p>First</p>"

    async def test_restoring_can_be_taken_back_within_the_same_sitting(
        self, app: World, tenant: TenantWorld
    ) -> None:
        post = await tenant.post(title="First", content_json=document("First"))
        app.clock.advance(hours=1)
        desk = await desk_of(tenant, post["id"])
        await desk.save(title="Second", content_json=document("Second"))
        (first,) = await revisions_of(tenant, post["id"])
        # In the same moment.
        await desk.restore(first["id"])
        found = await revisions_of(tenant, post["id"])
        [second] = [each for each in found if each["id"] != first["id"]]
        assert (second["title"], second["content_html"]) == ("Second", "<p>Second</p>")
        app.clock.advance(seconds=1)
        assert (await desk.restore(second["id"])).text["title"] == "Second"
        # A state that is restored already is no change.
        before = desk.opened.version
        assert (await desk.restore(second["id"])).version == before
        assert len(await revisions_of(tenant, post["id"])) == 3

    async def test_a_state_comes_back_in_the_form_that_its_editor_had(
        self, app: World, tenant: TenantWorld
    ) -> None:
        post = await tenant.post(title="Fog", content_json=document("Written"))
        desk = await desk_of(tenant, post["id"])
        app.clock.advance(hours=1)
        await desk.save(content_html="<p>As HTML</p>")
        (written,) = await revisions_of(tenant, post["id"])
        app.clock.advance(hours=1)
        restored = (await desk.restore(written["id"])).text
        assert (restored["content_source"], restored["content_json"]) == (
            "json",
            document("Written"),
        )
        as_html, _ = await revisions_of(tenant, post["id"])
        restored = (await desk.restore(as_html["id"])).text
        assert (restored["content_source"], restored["content_html"]) == ("html", "<p>As HTML</p>")
        await desk.put_live()
        copy = (await desk.restore(written["id"])).values
        assert (copy["content_source"], copy["content_html"]) == ("json", "<p>Written</p>")

    async def test_changes_that_were_never_live_are_stored_when_a_restore_replaces_them(
        self, app: World, tenant: TenantWorld
    ) -> None:
        post = await tenant.published(title="First", content_html="<p>First</p>")
        app.clock.advance(hours=1)
        await tenant.update("posts", post["id"], {"content_html": "<p>Second</p>"})
        (first,) = await revisions_of(tenant, post["id"])
        desk = await desk_of(tenant, post["id"])
        await desk.save(content_json=document("Typed"))
        app.clock.advance(seconds=1)
        await desk.restore(first["id"])
        typed, _ = await revisions_of(tenant, post["id"])
        assert (typed["content_html"], typed["status"]) == ("<p>Typed</p>", "changes")
        restored = await desk.restore(typed["id"])
        assert restored.values["content_html"] == "<p>Typed</p>"
        assert restored.text["content_html"] == "<p>Second</p>"

    async def test_another_posts_revision_is_not_found(
        self, app: World, tenant: TenantWorld
    ) -> None:
        post, other = await tenant.post(title="One"), await tenant.post(title="Two")
        app.clock.advance(hours=1)
        await tenant.update("posts", other["id"], {"title": "Two, changed"})
        (revision,) = await revisions_of(tenant, other["id"])
        desk = await desk_of(tenant, post["id"])
        with pytest.raises(NotFound):
            await desk.restore(revision["id"])


async def test_a_text_that_is_taken_down_is_a_draft_with_what_was_typed(
    tenant: TenantWorld,
) -> None:
    post = await tenant.published(title="Live", content_html="<p>live</p>")
    desk = await desk_of(tenant, post["id"])
    await desk.save(content_json=document("typed"))
    await desk.take_down()
    opened = await desk.open()
    assert opened.copy is None
    assert (opened.text["status"], opened.text["content_html"]) == ("draft", "<p>typed</p>")


async def test_the_slug_of_a_draft_follows_its_title_until_one_is_chosen(
    tenant: TenantWorld,
) -> None:
    await tenant.post(title="Taken")
    post = await tenant.post(title="Tak")
    desk = await desk_of(tenant, post["id"])
    for title, slug in (("Taken", "taken-2"), ("Taken", "taken-2"), ("Ebb", "ebb")):
        assert (await desk.save(title=title, slug="")).text["slug"] == slug
    await desk.save(title="Flood", slug="chosen")
    await desk.save(title="High water")
    assert desk.opened.text["slug"] == "chosen"
    await desk.put_live()
    await desk.save(title="Low water", slug="")
    assert (await desk.put_live()).text["slug"] == "chosen"
