"""The queue of comments: what it shows, what is decided there, and for whom it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape

import pytest
from tests.faces.admin.visitor import Visitor, hidden_in, staff
from tests.outside.mail.offices import Office
from tests.world import TenantWorld

from masthead.base.caller import system
from masthead.engine.records.collection import Record
from masthead.faces.admin.lists import PER_PAGE
from masthead.faces.admin.pages.comments.listing import COUNTED

HTMX = {"hx-request": "true"}
CHANGE = "/admin/comments/change"


def texts_in(page: str) -> list[str]:
    return [unescape(each) for each in re.findall(r'<p class="cm-body">([^<]*)', page)]


def current_in(page: str) -> str:
    found = re.search(r"<li data-current.*?name=\"select\.(\w+)\"", page, re.DOTALL)
    return found[1] if found else ""


@dataclass(frozen=True)
class Queue:
    tenant: TenantWorld
    post: Record

    async def comment(self, body: str = "Hm", **values: str) -> Record:
        given = {"post_id": self.post["id"], "author_name": "Ana", "body": body}
        return await self.tenant.create("comments", given | values)

    async def status(self, comment: Record) -> str:
        """Empty for one that is gone."""
        records = self.tenant.world.parts.records
        comments = self.tenant.world.collection("comments")
        found = await records.find(comments, {"id": comment["id"]}, tenant_id=self.tenant.id)
        return found[0]["status"] if found else ""


@pytest.fixture
async def queue(tenant: TenantWorld) -> Queue:
    return Queue(tenant, await tenant.published(title="The last ferry"))


@pytest.fixture
async def browser(tenant: TenantWorld) -> Visitor:
    return (await staff(tenant, "owner", name="Nell Ashby"))[0]


async def shown(browser: Visitor, query: str = "") -> list[str]:
    answer = await browser.get(f"/admin/comments{query}")
    assert answer.status_code == 200, answer.text
    return texts_in(answer.text)


class TestList:
    async def test_an_empty_queue_says_so(self, browser: Visitor) -> None:
        assert "Nothing waits" in (await browser.get("/admin/comments")).text

    async def test_states_words_people_and_posts(self, queue: Queue, browser: Visitor) -> None:
        other = await queue.tenant.published(title="Bread")
        await queue.comment("Which boat?", status="pending", author_email="ana@example.com")
        await queue.comment("A sigh", author_name="Hannah", author_email="ana@example.com")
        await queue.comment("Cheap watches", status="spam", author_name="Best Deals")
        await queue.comment("Rye at last", post_id=other["id"])
        for query, found in (
            ("", ["Which boat?"]),
            ("?status=approved", ["Rye at last", "A sigh"]),
            ("?status=spam", ["Cheap watches"]),
            ("?status=all", ["Rye at last", "Cheap watches", "A sigh", "Which boat?"]),
            ("?status=nonsense", ["Which boat?"]),
            ("?status=all&q=boat", ["Which boat?"]),
            ("?status=all&q=hannah", ["A sigh"]),
            ("?q=hannah", []),
            ("?status=all&guest=ana@example.com", []),
            (f"?status=approved&post={other['id']}", ["Rye at last"]),
            ("?status=all&member=nobody00000000x", []),
        ):
            assert (query, await shown(browser, query)) == (query, found)
        page = (await browser.get("/admin/comments")).text
        tabs = re.findall(r'<a href="/admin/comments[^"]*"[^>]*>(\w+)<span>([\d,]+)</span>', page)
        assert tabs == [("Waiting", "1"), ("Approved", "2"), ("Spam", "1"), ("All", "4")]

    async def test_all_of_a_guest_without_the_address_in_a_link(
        self, queue: Queue, browser: Visitor
    ) -> None:
        first = await queue.comment("One", status="spam", author_email="ana@example.com")
        await queue.comment("Two", author_email="ana@example.com")
        await queue.comment("Three", author_email="bo@example.com")
        page = (await browser.get(f"/admin/comments/{first['id']}")).text
        [link] = re.findall(r'href="(/admin/comments\?[^"]*guest=[^"]*)"', page)
        assert "%40" not in link
        assert "@" not in link
        listed = await browser.get(unescape(link))
        assert texts_in(listed.text) == ["Two", "One"]
        assert "By ana@example.com" in listed.text
        assert not re.search(r'="[^"]*ana@', listed.text)
        form = hidden_in(listed.text) | {"one": f"delete.{first['id']}", "confirmed": "1"}
        moved = await browser.post("/admin/comments/change", form)
        assert texts_in(await browser.follow(moved)) == ["Two"]

    async def test_the_navigation_says_how_many_wait(self, queue: Queue, browser: Visitor) -> None:
        for number in range(3):
            await queue.comment(f"No. {number}", status="pending")
        page = (await browser.get("/admin/account")).text
        assert '<span class="vh">waiting: </span>3</span>' in page
        assert 'href="/admin/comments">Show' in (await browser.get("/admin")).text

    async def test_an_answer_quotes_what_it_answers(self, queue: Queue, browser: Visitor) -> None:
        question = await queue.comment("A boat before midnight?", author_name="Martin Vane")
        await queue.comment("A bench.", parent_id=question["id"], status="pending")
        page = (await browser.get("/admin/comments")).text
        assert '<p class="re"><b>Martin Vane</b> A boat before midnight?</p>' in page

    async def test_pages_by_cursor(self, queue: Queue, browser: Visitor) -> None:
        for number in range(PER_PAGE + 2):
            await queue.comment(f"No. {number}", status="pending")
        page = (await browser.get("/admin/comments")).text
        assert len(texts_in(page)) == PER_PAGE
        older = re.search(r'<a class="btn btn-s" href="([^"]*)"[^>]*>Older', page)
        assert older
        assert await shown(browser, unescape(older[1]).removeprefix("/admin/comments")) == [
            "No. 1",
            "No. 0",
        ]

    async def test_a_fragment_is_a_part_of_its_page(self, queue: Queue, browser: Visitor) -> None:
        waiting = await queue.comment("Hm", status="pending")
        for address in ("/admin/comments", f"/admin/comments/{waiting['id']}"):
            whole = (await browser.get(address)).text
            part = (await browser.get(address, **HTMX)).text
            assert part.strip() in whole

    async def test_what_a_person_wrote_before_is_counted(
        self, queue: Queue, browser: Visitor
    ) -> None:
        member = await queue.tenant.member(name="Oliver Strand", tier="paid")
        stamped = {"member_id": member.id}
        records, comments = queue.tenant.world.parts.records, queue.tenant.world.collection
        given = {"post_id": queue.post["id"], "author_name": "Oliver Strand"}
        states = {"Mine": "approved", "Tide": "approved", "Buy": "spam", "Bag?": "pending"}
        for body, status in states.items():
            queue.tenant.world.clock.advance(seconds=1)
            async with records.unit(system(queue.tenant.id)) as unit:
                waiting = await unit.create(
                    comments("comments"), given | {"body": body, "status": status}, stamped=stamped
                )
        await queue.comment("By another", author_name="Oliver Strand")
        page = (await browser.get("/admin/comments")).text
        assert "paid member" in page
        aside = page[page.index('id="about"') :]
        assert re.findall(r"<dt>(\w+)</dt><dd>(\d+)</dd>", aside)[:3] == [
            ("Waiting", "1"),
            ("Approved", "2"),
            ("Spam", "1"),
        ]
        assert re.findall(r'<p><a href="[^"]*">(\w+)</a></p>', aside) == ["Buy", "Tide", "Mine"]
        link = re.search(r'href="([^"]*)">All 4 comments', aside)
        assert link
        address = unescape(link[1]).removeprefix("/admin/comments")
        assert await shown(browser, address) == ["Bag?", "Buy", "Tide", "Mine"]
        part = (await browser.get(f"/admin/comments/{waiting['id']}", **HTMX)).text
        assert part.startswith("<aside")

    async def test_of_one_who_wrote_much_the_newest_are_counted(
        self, queue: Queue, browser: Visitor
    ) -> None:
        world = queue.tenant.world
        given = {"post_id": queue.post["id"], "author_name": "Ana", "body": "Hm"}
        async with world.parts.records.unit(system(queue.tenant.id), emit_events=False) as unit:
            for number in range(COUNTED + 5):
                status = "spam" if number < 10 else "approved"
                more = {"author_email": "ana@example.com", "status": status}
                stamped = {"created": f"2026-01-01T00:00:{number / 10:06.3f}Z"}
                await unit.create(world.collection("comments"), given | more, stamped=stamped)
        page = (await browser.get("/admin/comments?status=approved")).text
        aside = page[page.index('id="about"') :]
        assert re.findall(r"<dt>(\w+)</dt><dd>([^<]+)</dd>", aside)[:4] == [
            ("Waiting", "0"),
            ("Approved", "195"),
            ("Spam", "5"),
            ("Counted", "the newest 200"),
        ]
        assert ">All comments</a>" in aside


class TestDeciding:
    @pytest.mark.parametrize(
        ("action", "before", "after", "events"),
        [
            ("approve", "pending", "approved", ["comment.approved", "comment.received"]),
            ("approve", "spam", "approved", ["comment.approved", "comment.received"]),
            ("spam", "pending", "spam", []),
            ("hold", "approved", "pending", []),
        ],
    )
    async def test_one_comment_by_its_button(
        self,
        queue: Queue,
        browser: Visitor,
        action: str,
        before: str,
        after: str,
        events: list[str],
    ) -> None:
        comment = await queue.comment("Hm", status=before)
        known = len(await queue.tenant.event_names())
        query = "" if before == "pending" else f"?status={before}"
        page = (await browser.get(f"/admin/comments{query}")).text
        assert f'value="{action}.{comment["id"]}"' in page
        answer = await browser.post(CHANGE, {"one": f"{action}.{comment['id']}"})
        assert "1 comment is" in await browser.follow(answer)
        assert await queue.status(comment) == after
        assert (await queue.tenant.event_names())[known:] == events

    async def test_after_a_decision_the_list_is_at_the_next_comment(
        self, queue: Queue, browser: Visitor
    ) -> None:
        rows = [await queue.comment(f"No. {number}", status="pending") for number in range(3)]
        page = (await browser.get("/admin/comments")).text
        assert current_in(page) == rows[2]["id"]
        form = hidden_in(page[page.index('class="selection"') :])
        answer = await browser.post(CHANGE, form | {"one": f"approve.{rows[1]['id']}"})
        assert current_in(await browser.follow(answer)) == rows[0]["id"]

    async def test_the_selected_ones_at_once(self, queue: Queue, browser: Visitor) -> None:
        rows = [await queue.comment(f"No. {number}", status="pending") for number in range(3)]
        form = {f"select.{each['id']}": "on" for each in rows[:2]} | {"action": "spam"}
        page = await browser.follow(await browser.post(CHANGE, form))
        assert "2 comments are marked as spam." in page
        assert [await queue.status(each) for each in rows] == ["spam", "spam", "pending"]

    async def test_a_deletion_asks_first(self, queue: Queue, browser: Visitor) -> None:
        comment = await queue.comment("Hm", status="spam")
        form = {"one": f"delete.{comment['id']}", "status": "spam"}
        question = await browser.post(CHANGE, form)
        assert question.status_code == 200
        assert await queue.status(comment) == "spam"
        sure = hidden_in(question.text) | {"action": "delete"}
        page = await browser.follow(await browser.post(CHANGE, sure))
        assert "1 comment is deleted." in page
        assert "No comments here" in page
        assert await queue.status(comment) == ""
        assert (await queue.tenant.event_names())[-1] == "comment.deleted"

    async def test_all_that_match_after_a_question(self, queue: Queue, browser: Visitor) -> None:
        spam = [await queue.comment(f"No. {n}", status="spam") for n in range(PER_PAGE + 3)]
        kept = await queue.comment("Stays")
        form = {"status": "spam", "all": "1", "action": "delete"}
        question = await browser.post(CHANGE, form)
        assert f"All {len(spam)} that match" in question.text
        sure = hidden_in(question.text) | {"action": "delete"}
        assert "23 comments are deleted." in await browser.follow(await browser.post(CHANGE, sure))
        assert {await queue.status(each) for each in spam} == {""}
        assert await queue.status(kept) == "approved"

    async def test_what_is_gone_or_nothing(self, queue: Queue, browser: Visitor) -> None:
        gone = await browser.post(CHANGE, {"one": "approve.nobody00000000x"})
        assert "Nothing needed to change." in await browser.follow(gone)
        none = await browser.post(CHANGE, {"action": "spam"})
        assert "No comment was selected." in await browser.follow(none)
        assert (await browser.post(CHANGE, {"action": "explode"})).status_code == 400


class TestAnswer:
    async def test_staff_answers_and_approves_with_it(self, queue: Queue, browser: Visitor) -> None:
        waiting = await queue.comment("Is there a boat?", status="pending")
        page = (await browser.get(f"/admin/comments/{waiting['id']}?reply=1")).text
        assert "autofocus" in page
        known = len(await queue.tenant.event_names())
        address = f"/admin/comments/{waiting['id']}/reply"
        answer = await browser.post(address, {"body": "There is a bench.\r\n\r\n\r\nNell"})
        assert "Your reply is published." in await browser.follow(answer)
        assert await queue.status(waiting) == "approved"
        guest = await queue.tenant.guest.get("/posts/the-last-ferry")
        assert "There is a bench." in guest.text
        assert "Nell Ashby" in guest.text
        assert (await queue.tenant.event_names())[known:] == [
            *("comment.approved", "comment.received"),
            *("comment.posted", "comment.approved", "comment.received"),
        ]

    async def test_an_approved_one_leads_to_its_place_on_the_site(
        self, queue: Queue, browser: Visitor
    ) -> None:
        comment = await queue.comment("There is a bench.")
        page = (await browser.get(f"/admin/comments/{comment['id']}")).text
        [link] = re.findall(r'href="([^"]*#comment-\w+)"', page)
        seen = await queue.tenant.guest.get(unescape(link))
        assert f'id="comment-{comment["id"]}"' in seen.text

    async def test_the_thread_is_shown_around_it(self, queue: Queue, browser: Visitor) -> None:
        first = await queue.comment("Question")
        second = await queue.comment("Answer", parent_id=first["id"])
        await queue.comment("Spam", parent_id=first["id"], status="spam")
        await queue.comment("Elsewhere")
        waiting = await queue.comment("Thanks", parent_id=second["id"], status="pending")
        await queue.comment("Later", parent_id=first["id"])
        assert await shown(browser, f"/{waiting['id']}") == [
            *("Question", "Answer", "Thanks", "Later")
        ]

    async def test_what_was_typed_stays_when_it_is_refused(
        self, queue: Queue, browser: Visitor
    ) -> None:
        waiting = await queue.comment("Hm", status="pending")
        address = f"/admin/comments/{waiting['id']}/reply"
        empty = await browser.post(address, {"body": "  "})
        assert empty.status_code == 422
        assert "Write something first." in empty.text
        await queue.tenant.settings(comments_enabled=False)
        refused = await browser.post(address, {"body": "Not lost"})
        assert refused.status_code == 422
        assert "Not lost" in refused.text
        assert "Comments are disabled on this site." in refused.text
        assert await queue.status(waiting) == "pending"

    async def test_who_is_answered_gets_a_mail(self, office: Office) -> None:
        tenant = await office.world.new_tenant()
        browser, _ = await staff(tenant, "editor", name="Tobias Wren")
        post = await tenant.published(title="The last ferry")
        member = await tenant.member(name="Ana", email="ana@example.com")
        records, comments = tenant.world.parts.records, tenant.world.collection("comments")
        async with records.unit(system(tenant.id)) as unit:
            given = {"post_id": post["id"], "author_name": "Ana", "body": "When?"}
            waiting = await unit.create(
                comments, given | {"status": "pending"}, stamped={"member_id": member.id}
            )
        await browser.post(f"/admin/comments/{waiting['id']}/reply", {"body": "At nine."})
        mail = await office.mail_to("ana@example.com")
        assert mail["subject"] == "Tobias Wren replied to your comment"


class TestRoles:
    async def test_an_editor_decides(self, queue: Queue) -> None:
        waiting = await queue.comment("Hm", status="pending")
        editor, _ = await staff(queue.tenant, "editor")
        assert await shown(editor) == ["Hm"]
        await editor.follow(await editor.post(CHANGE, {"one": f"approve.{waiting['id']}"}))
        assert await queue.status(waiting) == "approved"

    async def test_an_author_has_no_comments_to_see_or_change(self, queue: Queue) -> None:
        waiting = await queue.comment("Secret words", status="pending")
        author, account = await staff(queue.tenant, "author")
        await queue.tenant.update("posts", queue.post["id"], {"authors": [account.id]})
        assert "/admin/comments" not in (await author.get("/admin")).text
        await _is_refused(author, waiting)
        assert await queue.status(waiting) == "pending"

    async def test_another_sites_comments_are_not_there(
        self, queue: Queue, browser: Visitor
    ) -> None:
        waiting = await queue.comment("Hm", status="pending")
        elsewhere = await queue.tenant.world.new_tenant()
        stranger, _ = await staff(elsewhere, "owner")
        assert await shown(stranger) == []
        address = f"/admin/comments/{waiting['id']}"
        assert (await stranger.get(address)).status_code == 404
        assert (await stranger.post(f"{address}/reply", {"body": "Hi"})).status_code == 404
        for action in ("approve", "delete"):
            form = {f"select.{waiting['id']}": "on", "action": action, "confirmed": "1"}
            page = await stranger.follow(await stranger.post(CHANGE, form))
            assert "Nothing needed to change." in page
        assert await queue.status(waiting) == "pending"

    async def test_one_who_is_signed_out_is_asked_to_sign_in(self, queue: Queue) -> None:
        guest = Visitor(queue.tenant.world.client(queue.tenant.host))
        answer = await guest.get("/admin/comments")
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/admin/sign-in")


async def _is_refused(author: Visitor, waiting: Record) -> None:
    address = f"/admin/comments/{waiting['id']}"
    for page in ("/admin/comments", "/admin/comments?status=all&q=secret", address):
        answer = await author.get(page)
        assert answer.status_code == 403, page
        assert "Secret words" not in answer.text
    for action in ("approve", "spam", "delete"):
        form = {"one": f"{action}.{waiting['id']}", "confirmed": "1"}
        assert (await author.post(CHANGE, form)).status_code == 403
    assert (await author.post(CHANGE, {"one": "approve.nobody00000000x"})).status_code == 403
    assert (await author.post(f"{address}/reply", {"body": "Hi"})).status_code == 403


async def test_many_comments_are_decided_in_one_go(queue: Queue, browser: Visitor) -> None:
    """In units of a hundred, so that others can write in between."""
    rows = [await queue.comment(f"No. {number}", status="spam") for number in range(250)]
    form = {"status": "spam", "all": "1", "action": "approve", "confirmed": "1"}
    page = await browser.follow(await browser.post(CHANGE, form))
    assert "250 comments are approved." in page
    assert await queue.status(rows[0]) == "approved"
