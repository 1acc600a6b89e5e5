"""The trash in the admin, and the button Undo after a change of many records."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.faces.admin.visitor import Visitor, staff
from tests.world import TenantWorld

from masthead.base.caller import system
from masthead.engine.records.collection import Record
from masthead.engine.records.due_records import delete_expired
from masthead.features.undo.collection import undo_steps
from masthead.service.background import job_runner

TRASH = "/admin/trash"
BULK = "/admin/posts/bulk"


@pytest.fixture
async def browser(tenant: TenantWorld) -> Visitor:
    return (await staff(tenant, "owner"))[0]


async def found(tenant: TenantWorld, name: str, **equals: Any) -> list[Record]:
    collection = tenant.world.collection(name)
    return await tenant.world.parts.records.find(
        collection, equals, tenant_id=tenant.id, limit=1_000
    )


async def trashed(tenant: TenantWorld, **values: Any) -> Record:
    post = await tenant.post(**values)
    await remove(tenant, "posts", post)
    return post


async def remove(tenant: TenantWorld, name: str, record: Record) -> None:
    records = tenant.world.parts.records
    await records.delete(system(tenant.id), records.registry[name], record["id"])


def undo_in(page: str) -> str:
    """The address of the button in the notice."""
    shown = re.search(r'<form class="toast" method="post" action="([^"]+)"', page)
    assert shown, page[-2_000:]
    return shown[1]


class TestTrash:
    async def test_one_press_restores(self, tenant: TenantWorld, browser: Visitor) -> None:
        post = await trashed(tenant, title="Rain <b>")
        page = (await browser.get(TRASH)).text
        assert "Rain &lt;b&gt;" in page
        assert f'action="{TRASH}/{post["id"]}/restore"' in page
        page = await browser.follow(await browser.post(f"{TRASH}/{post['id']}/restore"))
        assert "“Rain &lt;b&gt;” is restored." in page
        assert "The trash is empty" in page
        assert [each["id"] for each in await found(tenant, "posts")] == [post["id"]]

    async def test_a_deletion_can_be_undone_at_once(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        post = await tenant.post(title="Rain")
        page = await browser.follow(await browser.post(f"/admin/posts/{post['id']}/delete"))
        assert "“Rain” is in the trash." in page
        answer = await browser.post(undo_in(page), {"next": "/admin/posts?status=draft"})
        assert answer.headers["location"] == "/admin/posts?status=draft"
        assert "“Rain” is restored." in await browser.follow(answer)

    async def test_only_own_addresses_are_gone_back_to(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        post = await trashed(tenant)
        form = {"next": "https://evil.example/"}
        answer = await browser.post(f"{TRASH}/{post['id']}/restore", form)
        assert answer.headers["location"] == "/admin"

    async def test_an_entry_is_deleted_for_good_after_a_question(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        post = await trashed(tenant, title="Rain")
        address = f"{TRASH}/{post['id']}/delete"
        assert "Delete “Rain” for good?" in (await browser.get(address)).text
        page = await browser.follow(await browser.post(address))
        assert "“Rain” is deleted for good." in page
        assert await found(tenant, "trash_items") == []

    async def test_the_worker_empties_it_and_the_log_tells(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        for number in range(3):
            await trashed(tenant, title=f"Post {number}")
        assert "Empty the trash?" in (await browser.get(f"{TRASH}/empty")).text
        page = await browser.follow(await browser.post(f"{TRASH}/empty"))
        assert "The trash is being emptied." in page
        tenant.world.clock.advance(seconds=1)
        later = await trashed(tenant, title="Later")
        runner = job_runner(tenant.world.parts)
        while await runner.run_due():
            pass
        assert [each["id"] for each in await found(tenant, "trash")] == [later["id"]]
        assert "Emptied the trash" in (await browser.get("/admin/activity")).text

    async def test_it_is_filtered_by_type(self, tenant: TenantWorld, browser: Visitor) -> None:
        await trashed(tenant, title="A post")
        page = await tenant.create("pages", {"title": "A page"})
        await remove(tenant, "pages", page)
        shown = (await browser.get(f"{TRASH}?type=pages")).text
        assert "A page" in shown
        assert "A post" not in shown
        assert "Nothing found" in (await browser.get(f"{TRASH}?type=media")).text

    async def test_authors_see_their_own(self, tenant: TenantWorld) -> None:
        browser, account = await staff(tenant, "author")
        own = await trashed(tenant, title="Own", authors=[account.id])
        other = await trashed(tenant, title="Of another")
        page = (await browser.get(TRASH)).text
        assert "Own" in page
        assert "Of another" not in page
        assert "Empty the trash" not in page
        assert (await browser.post(f"{TRASH}/empty")).status_code == 403
        assert (await browser.post(f"{TRASH}/{other['id']}/restore")).status_code == 404
        assert (await browser.post(f"{TRASH}/{own['id']}/restore")).status_code == 303

    async def test_an_id_that_is_used_again_is_told(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        post = await trashed(tenant)
        await tenant.post(id=post["id"])
        page = await browser.follow(await browser.post(f"{TRASH}/{post['id']}/restore"))
        assert "Another record has this id now" in page


async def change(browser: Visitor, address: str, records: list[Record], **form: str) -> str:
    ticks = {f"select.{each['id']}": "on" for each in records}
    return await browser.follow(await browser.post(address, ticks | form))


async def undo(browser: Visitor, page: str) -> str:
    return await browser.follow(await browser.post(undo_in(page), {"next": "/admin/posts"}))


class TestUndo:
    async def test_texts_get_state_date_and_tags_back(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        posts = [await tenant.published(title=f"Post {n}", tags=["a"]) for n in range(2)]
        draft = await tenant.post(title="Draft")
        before = {each["id"]: each for each in await found(tenant, "posts")}
        tenant.world.clock.advance(hours=1)
        page = await change(browser, BULK, [*posts, draft], action="unpublish")
        assert "2 posts are unpublished." in page
        assert "2 posts are as before." in await undo(browser, page)
        page = await change(browser, BULK, [*posts, draft], action="tag", tag_name="b")
        assert "3 posts are as before." in await undo(browser, page)
        names = ("status", "published_at", "tags", "title", "slug")
        after = {each["id"]: each for each in await found(tenant, "posts")}
        for post_id, post in before.items():
            assert [after[post_id][name] for name in names] == [post[name] for name in names]

    async def test_a_text_that_was_changed_since_stays_and_is_named(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        first, second = [await tenant.post(title=f"Post {n}") for n in range(2)]
        page = await change(browser, BULK, [first, second], action="publish")
        await tenant.update("posts", second["id"], {"title": "Mine"})
        page = await undo(browser, page)
        assert "1 post is as before." in page
        assert "“Mine” was changed since and stays so." in page
        states = {each["id"]: each["status"] for each in await found(tenant, "posts")}
        assert states == {first["id"]: "draft", second["id"]: "published"}

    async def test_deleted_texts_come_back(self, tenant: TenantWorld, browser: Visitor) -> None:
        posts = [await tenant.published(title=f"Post {n}") for n in range(3)]
        page = await change(browser, BULK, posts, action="delete", confirmed="1")
        assert "3 posts are in the trash." in page
        await remove_for_good(tenant, posts[0])
        page = await undo(browser, page)
        assert "2 posts are as before. 1 post is deleted for good." in page
        assert len(await found(tenant, "posts")) == 2

    async def test_it_is_undone_once_and_by_the_same_account(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        post = await tenant.post()
        page = await change(browser, BULK, [post], action="publish")
        other, _ = await staff(tenant, "owner")
        assert "It is too late to undo this." in await undo(other, page)
        assert "1 post is as before." in await undo(browser, page)
        assert "It is too late to undo this." in await undo(browser, page)

    async def test_after_an_hour_it_is_too_late(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        post = await tenant.post()
        page = await change(browser, BULK, [post], action="publish")
        tenant.world.clock.advance(hours=1)
        await delete_expired(tenant.world.parts.records, undo_steps)
        assert await found(tenant, "undo_steps") == []
        assert "It is too late to undo this." in await undo(browser, page)
        [post] = await found(tenant, "posts")
        assert post["status"] == "published"

    async def test_a_missed_schedule_does_not_publish(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        post = await tenant.post(scheduled_for="2099-01-01 00:00:00.000Z")
        page = await change(browser, BULK, [post], action="publish")
        assert "1 post is as before." in await undo(browser, page)
        [post] = await found(tenant, "posts")
        assert (post["status"], post["scheduled_for"][:4]) == ("draft", "2099")

    async def test_comments_get_their_state_back(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        first, reply = await a_thread(tenant)
        page = await change(browser, "/admin/comments/change", [first, reply], action="spam")
        assert "2 comments are as before." in await undo(browser, page)
        assert {each["status"] for each in await found(tenant, "comments")} == {"approved"}

    async def test_deleted_comments_come_back_to_their_place(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        first, reply = await a_thread(tenant)
        form = {"action": "delete", "confirmed": "1"}
        page = await change(browser, "/admin/comments/change", [first], **form)
        [moved] = await found(tenant, "comments")
        assert moved["parent_id"] == ""
        assert "The trash is empty" in (await browser.get(TRASH)).text
        assert "1 comment is as before." in await undo(browser, page)
        comments = {each["id"]: each for each in await found(tenant, "comments")}
        assert comments[reply["id"]]["parent_id"] == first["id"]
        assert comments[first["id"]]["body"] == "First"

    async def test_members_lose_the_label_again(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        members = [await tenant.member(labels=["old"]) for _ in range(2)]
        ticks = {f"select.{each.id}": "on" for each in members}
        form = ticks | {"action": "label", "label_name": "new"}
        page = await browser.follow(await browser.post("/admin/members/change", form))
        assert {tuple(each["labels"]) for each in await found(tenant, "blog_members")} == {
            ("old", "new")
        }
        assert "2 members are as before." in await undo(browser, page)
        assert {tuple(each["labels"]) for each in await found(tenant, "blog_members")} == {("old",)}


async def a_thread(tenant: TenantWorld) -> tuple[Record, Record]:
    post = await tenant.published()
    given = {"post_id": post["id"], "author_name": "Ana"}
    first = await tenant.create("comments", given | {"body": "First"})
    reply = given | {"body": "Reply", "parent_id": first["id"]}
    return first, await tenant.create("comments", reply)


async def remove_for_good(tenant: TenantWorld, record: Record) -> None:
    await remove(tenant, "trash", record)
