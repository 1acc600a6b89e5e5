"""Readers comment on a site's posts: who may, what waits, and what is refused."""

from __future__ import annotations

import pytest
from tests.features.comments.readers import GUEST, Browser, focused, nested, number, problems, shown
from tests.world import TenantWorld, World, records_of


@pytest.fixture
async def site(tenant: TenantWorld) -> TenantWorld:
    await tenant.settings(comments_by="everyone", comments_moderation="none")
    await tenant.published(title="Fog", content_html="<p>Thick fog.</p>")
    return tenant


async def stored(site: TenantWorld, **equals: str) -> list[dict[str, object]]:
    comments = site.world.collection("comments")
    return await site.world.parts.records.find(comments, equals, tenant_id=site.id, limit=2_000)


class TestWho:
    @pytest.mark.parametrize(
        ("by", "may"),
        [
            ("everyone", {"guest", "free", "paid", "owner"}),
            ("members", {"free", "paid", "owner"}),
            ("paid", {"paid", "owner"}),
        ],
    )
    async def test_the_settings_say_who_comments(
        self, site: TenantWorld, by: str, may: set[str]
    ) -> None:
        await site.settings(comments_by=by)
        readers = {
            "guest": Browser(site, "fog"),
            "free": Browser(site, "fog", await site.member(name="Fay Free")),
            "paid": Browser(site, "fog", await site.member(name="Pam Paid", tier="paid")),
            "owner": Browser(site, "fog", await site.owner(name="Olga Owner")),
        }
        for who, browser in readers.items():
            has_form = bool((await browser.page()).xpath("//form[@class='comment-form']"))
            assert has_form is (who in may), who
            values = {} if browser.account else GUEST
            answer = await browser.send("", body=f"From {who}", **values)
            assert answer.status_code == (303 if who in may else 403), (who, answer.text)
        assert {each["body"] for each in await stored(site)} == {f"From {who}" for who in may}

    async def test_nobody_comments_where_comments_are_off_and_old_ones_stay(
        self, site: TenantWorld
    ) -> None:
        browser = Browser(site, "fog")
        await browser.comment("Before")
        await site.settings(comments_enabled=False)
        page = await browser.page()
        assert shown(page) == ["Before"]
        assert "Comments are closed." in page.text_content()
        answer = await browser.send("", body="After", **GUEST)
        assert answer.status_code == 403
        assert "Comments are disabled on this site." in answer.text
        assert len(await stored(site)) == 1

    async def test_a_post_without_comments_says_nothing_where_they_are_off(
        self, site: TenantWorld
    ) -> None:
        await site.settings(comments_enabled=False)
        assert not (await Browser(site, "fog").page()).find_class("comments")

    async def test_a_read_only_site_takes_none(self, site: TenantWorld) -> None:
        browser = Browser(site, "fog")
        mine = await browser.comment("Before")
        await site.settings(read_only_mode=True)
        answer = await browser.send("", body="After", **GUEST)
        assert (answer.status_code, "read-only" in answer.text) == (403, True)
        for path in (f"/{mine}", f"/{mine}/delete"):
            assert (await browser.send(path, body="x")).status_code == 403
        assert [each["body"] for each in await stored(site)] == ["Before"]

    async def test_who_may_not_read_a_post_can_neither_comment_nor_see_a_comment(
        self, site: TenantWorld
    ) -> None:
        for visibility in ("members", "paid"):
            post = await site.published(title=visibility, visibility=visibility)
            first = await site.create(
                "comments", {"post_id": post["id"], "author_name": "Insider", "body": "Insidetalk"}
            )
            readers = {
                "guest": (Browser(site, visibility), set[str]()),
                "free": (Browser(site, visibility, await site.member(name="Fay")), {"members"}),
                "paid": (
                    Browser(site, visibility, await site.member(name="Pam", tier="paid")),
                    {"members", "paid"},
                ),
            }
            for who, (browser, may) in readers.items():
                is_open = visibility in may
                for query in (
                    "",
                    "",
                    f"?thread={first['id']}",
                    "?before=2030-01-01_aaaaaaaaaaaaaaa",
                ):
                    text = await browser.text(query)
                    assert ("Insidetalk" in text) is is_open, (who, visibility, query)
                values = {} if browser.account else GUEST
                answer = await browser.send("", body=f"{who} was here", **values)
                assert answer.status_code == (303 if is_open else 403), (who, visibility)
                if who == "guest":
                    assert "can&#39;t comment" in answer.text
                if not is_open:
                    assert "Insidetalk" not in answer.text
            for path in ("/", "/feed.xml", "/feed.json", "/archive", "/search?q=Insider"):
                assert "Insidetalk" not in (await site.guest.get(path)).text

    async def test_a_draft_takes_no_comment(self, site: TenantWorld) -> None:
        await site.post(title="Later")
        answer = await Browser(site, "later").send("", body="x", **GUEST)
        assert answer.status_code == 404
        assert await stored(site) == []

    async def test_a_member_of_another_site_is_a_guest(
        self, site: TenantWorld, other_tenant: TenantWorld
    ) -> None:
        await site.settings(comments_by="members")
        stranger = Browser(site, "fog", await other_tenant.member(name="Stranger", tier="paid"))
        answer = await stranger.send("", body="Hello", form_token="x", **GUEST)
        assert answer.status_code == 403
        assert await stored(site) == []


class TestNames:
    async def test_a_guest_gives_a_name_and_an_address_that_nobody_sees(
        self, site: TenantWorld
    ) -> None:
        browser = Browser(site, "fog")
        await browser.comment("Hello")
        text = await Browser(site, "fog").text()
        assert "Gale Guest" in text
        assert GUEST["email"] not in text
        assert GUEST["email"] not in await browser.text()

    async def test_an_empty_form_says_what_is_missing_and_keeps_what_was_typed(
        self, site: TenantWorld
    ) -> None:
        browser = Browser(site, "fog")
        answer = await browser.send("", body="  ", name="", email="nonsense")
        assert answer.status_code == 422
        assert problems(answer) == [
            "Write something first.",
            "Enter the name to show with your comment.",
            "Must be an email address, such as ada@example.com.",
        ]
        assert focused(answer) == ["body"]
        answer = await browser.send("", body="My <b>text</b>", name="Gale", email="")
        assert "My &lt;b&gt;text&lt;/b&gt;" in answer.text
        assert 'value="Gale"' in answer.text
        assert focused(answer) == ["email"]
        assert answer.headers["cache-control"] == "private, no-store"

    @pytest.mark.parametrize("name", ["Olga Owner", "OLGA  owner", "olga\u200bowner", "The Fog"])
    async def test_a_guest_cannot_use_the_name_of_staff_or_of_the_site(
        self, site: TenantWorld, name: str
    ) -> None:
        await site.settings(site_name="The Fog")
        await site.owner(name="Olga Owner")
        answer = await Browser(site, "fog").send("", body="x", name=name, email="a@example.com")
        assert answer.status_code == 422
        assert problems(answer) == [
            "Someone on this site's staff has this name. Choose another one."
        ]

    async def test_staff_writes_as_staff_and_nobody_else_does(self, site: TenantWorld) -> None:
        await Browser(site, "fog", await site.owner(name="Olga Owner")).comment("Officially")
        await Browser(site, "fog", await site.member(name="Olga Owner")).comment("Unofficially")
        page = await Browser(site, "fog").page()
        heads = [each.text_content() for each in page.find_class("comment-head")]
        assert ["Staff" in each for each in heads] == [True, False]

    async def test_a_member_without_a_name_is_asked_for_one_once(self, site: TenantWorld) -> None:
        account = await site.member()
        browser = Browser(site, "fog", account)
        answer = await browser.send("", body="Hello")
        assert (answer.status_code, problems(answer)) == (
            422,
            ["Enter the name to show with your comment."],
        )
        assert 'name="email"' not in answer.text.partition('id="comments"')[2]
        # In the field that is missing, with the text as it was.
        assert focused(answer) == ["name"]
        assert ">\nHello</textarea>" in answer.text
        await browser.comment("Hello", name="Nora New")
        await browser.comment("Hello again")
        found = await stored(site, member_id=account.id)
        assert {each["author_name"] for each in found} == {"Nora New"}
        assert account.email not in await browser.text()

    async def test_the_answer_does_not_tell_whether_an_address_is_a_members(
        self, site: TenantWorld
    ) -> None:
        account = await site.member(name="Known")
        answers = [
            await Browser(site, "fog").send("", body=f"Hi {n}", name="Gale", email=email)
            for n, email in enumerate((account.email, "unknown@example.com"))
        ]
        assert {each.status_code for each in answers} == {303}
        assert {each["member_id"] for each in await stored(site)} == {""}


class TestWaiting:
    @pytest.mark.parametrize(
        ("moderation", "waiting"),
        [("none", set[str]()), ("guests", {"guest"}), ("all", {"guest", "member"})],
    )
    async def test_the_settings_say_whose_comments_wait(
        self, site: TenantWorld, moderation: str, waiting: set[str]
    ) -> None:
        await site.settings(comments_moderation=moderation)
        readers = {
            "guest": Browser(site, "fog"),
            "member": Browser(site, "fog", await site.member(name="Mia")),
            "owner": Browser(site, "fog", await site.owner(name="Olga")),
        }
        for who, browser in readers.items():
            await browser.comment(f"By {who}")
        seen = {each.removeprefix("By ") for each in shown(await Browser(site, "fog").page())}
        assert seen == set(readers) - waiting
        for who, browser in readers.items():
            page = await browser.page()
            assert f"By {who}" in shown(page)
            assert ("Waiting for approval" in page.text_content()) is (who in waiting), who

    async def test_an_approval_is_seen_by_the_next_request(self, site: TenantWorld) -> None:
        await site.settings(comments_moderation="all")
        author, other = Browser(site, "fog"), Browser(site, "fog")
        waiting = await author.comment("Patience")
        assert shown(await other.page()) == []
        assert number(await other.page()) == 0
        await site.update("comments", waiting, {"status": "approved"})
        page = await other.page()
        assert (shown(page), number(page)) == (["Patience"], 1)
        assert "Waiting for approval" not in await author.text()
        await site.update("comments", waiting, {"status": "spam"})
        assert (shown(await other.page()), number(await other.page())) == ([], 0)

    async def test_a_waiting_comment_of_one_reader_is_in_no_shared_page(
        self, site: TenantWorld
    ) -> None:
        await site.settings(comments_moderation="all")
        author, other = Browser(site, "fog"), Browser(site, "fog")
        await other.text()
        await author.comment("Only mine")
        answer = await author.http.get("/posts/fog")
        assert "Only mine" in answer.text
        assert answer.headers["cache-control"] == "private, no-store"
        assert "etag" not in answer.headers
        shared = await other.http.get("/posts/fog")
        assert "Only mine" not in shared.text
        assert shared.headers["cache-control"].startswith("public")

    async def test_more_than_two_links_wait_and_staff_may_use_as_many_as_it_likes(
        self, site: TenantWorld
    ) -> None:
        two = "See http://a.example/1 and https://b.example/2."
        three = f"{two} Or www.c.example too."
        await Browser(site, "fog").comment(two)
        await Browser(site, "fog").comment(three)
        await Browser(site, "fog", await site.member(name="Mia")).comment(f"{three} Mia")
        await Browser(site, "fog", await site.owner(name="Olga")).comment(f"{three} Olga")
        seen = shown(await Browser(site, "fog").page())
        assert seen == [two, f"{three} Olga"]
        assert len(await stored(site, status="pending")) == 2


class TestSpam:
    async def test_a_filled_trap_looks_like_success_and_stores_nothing(
        self, site: TenantWorld
    ) -> None:
        answer = await Browser(site, "fog").send("", body="Buy", website="http://x", **GUEST)
        assert (answer.status_code, answer.headers["location"]) == (303, "/posts/fog#comments")
        assert "set-cookie" not in answer.headers
        assert await stored(site) == []

    @pytest.mark.parametrize(
        "body", ["https://x.example/a", "www.x.example!!!", "http://a http://b"]
    )
    async def test_a_comment_of_links_alone_is_refused(self, site: TenantWorld, body: str) -> None:
        answer = await Browser(site, "fog").send("", body=body, **GUEST)
        assert answer.status_code == 422
        assert problems(answer) == ["Say something about the link: a comment needs words."]

    async def test_the_same_text_is_taken_once_from_one_author_on_one_post(
        self, site: TenantWorld
    ) -> None:
        await site.published(title="Rain")
        browser = Browser(site, "fog")
        await browser.comment("Thanks!")
        answer = await browser.send("", body=" Thanks! ", **GUEST)
        assert answer.status_code == 422
        assert problems(answer) == ["You have already posted this comment."]
        await Browser(site, "rain").comment("Thanks!")
        await Browser(site, "fog").comment("Thanks!", email="other@example.com")
        assert len(await stored(site)) == 3

    async def test_a_long_text_is_refused_and_kept_in_the_form(self, site: TenantWorld) -> None:
        browser = Browser(site, "fog")
        await browser.comment("x" * 5000)
        answer = await browser.send("", body="y" * 5001, **GUEST)
        assert answer.status_code == 422
        assert problems(answer) == ["Must be no more than 5000 character(s)."]
        assert "y" * 5001 in answer.text
        huge = await browser.send("", body="z" * 200_000, **GUEST)
        assert huge.status_code == 413

    async def test_one_network_is_slowed_down_and_others_are_not(
        self, site: TenantWorld, app: World
    ) -> None:
        browser = Browser(site, "fog")
        for n in range(5):
            await browser.comment(f"Number {n}")
        answer = await browser.send("", body="Number 6", **GUEST)
        assert answer.status_code == 429
        assert int(answer.headers["retry-after"]) > 0
        assert problems(answer) == ["Too many comments at once. Try again in 56 seconds."]
        assert "Number 6" in answer.text
        await Browser(site, "fog").comment("From elsewhere")
        app.clock.advance(seconds=61)
        await browser.comment("Number 7")

    async def test_members_are_counted_by_account_and_not_kept_out_by_guests(
        self, site: TenantWorld
    ) -> None:
        account = await site.member(name="Mia")
        for n in range(5):
            await Browser(site, "fog", account).comment(f"Number {n}")
        answer = await Browser(site, "fog", account).send("", body="Number 6")
        assert answer.status_code == 429
        for n in range(30):
            await Browser(site, "fog").comment(f"Guest {n}")
        answer = await Browser(site, "fog").send("", body="Guest 31", **GUEST)
        assert answer.status_code == 429
        await Browser(site, "fog", await site.member(name="Moe")).comment("A member still can")

    async def test_a_form_of_another_site_is_refused(self, site: TenantWorld) -> None:
        browser = Browser(site, "fog")
        mine = await browser.comment("Mine")
        for headers in (
            {"sec-fetch-site": "cross-site"},
            {"sec-fetch-site": "same-site"},
            {"origin": "http://evil.localhost"},
            {},
        ):
            for path in ("", f"/{mine}", f"/{mine}/delete"):
                answer = await browser.http.post(
                    f"/posts/fog/comments{path}", data={"body": "x", **GUEST}, headers=headers
                )
                assert answer.status_code == 403, (path, headers)
        assert [each["body"] for each in await stored(site)] == ["Mine"]

    async def test_a_members_form_needs_the_token_of_the_sign_in(self, site: TenantWorld) -> None:
        browser = Browser(site, "fog", await site.member(name="Mia"))
        answer = await browser.send("", body="Hello", form_token="wrong")
        assert answer.status_code == 403
        assert await stored(site) == []


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"'><svg/onload=alert(1)>",
    "javascript:alert(1) is no link",
    'http://x.example/"onmouseover="alert(1) quotes end a link',
    "see http://x.example/<script>alert(1)</script>",
    "{{ 7 * 7 }} {% raw %} ${7*7}",
    "</textarea><script>alert(1)</script>",
    "]]><!--",
    "\u202egnirts a",
    "Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d" * 20 + " zalgo",
    "日本語のコメント、絵文字 👩‍👩‍👧‍👦 и кириллица",
    "a" * 4990,
]


class TestTexts:
    @pytest.mark.parametrize("body", HOSTILE)
    async def test_a_text_is_shown_as_text(self, site: TenantWorld, body: str) -> None:
        browser = Browser(site, "fog")
        await browser.comment(body)
        # Once for its author, with the form that edits it, and once for the others.
        for reader in (browser, Browser(site, "fog")):
            page = await reader.page()
            section = page.get_element_by_id("comments")
            assert not section.xpath(".//script|.//svg|.//img|.//@onerror|.//@onmouseover")
            assert "\u202e" not in section.text_content()
            [text] = shown(page)
            assert text == " ".join(body.replace("\u202e", "").split())
            for link in section.xpath(".//div[@class='comment-text']//a"):
                assert link.get("rel") == "nofollow ugc noopener"
                assert link.get("href").startswith(("http://", "https://"))

    async def test_a_text_has_paragraphs_and_links(self, site: TenantWorld) -> None:
        browser = Browser(site, "fog")
        await browser.comment("One (https://a.example/x_(y)).\r\n\r\n\r\n\r\nTwo\r\nlines")
        page = await Browser(site, "fog").page()
        [text] = page.find_class("comment-text")
        assert [each.text_content() for each in text.findall("p")] == [
            "One (https://a.example/x_(y)).",
            "Two\nlines",
        ]
        assert text.xpath(".//a/@href") == ["https://a.example/x_(y"]
        # In any script, on a site of any language.
        assert text.xpath("./p/@dir") == ["auto", "auto"]

    async def test_bytes_that_are_no_text_are_no_error(self, site: TenantWorld) -> None:
        browser = Browser(site, "fog")
        headers = {
            "sec-fetch-site": "same-origin",
            "content-type": "application/x-www-form-urlencoded",
        }
        for raw in (
            b"body=%ff%fe&name=%80A&email=a@example.com",
            b"body=%00",
            b"\xff",
            b"",
            b"a" * 70_000,
        ):
            answer = await browser.http.post("/posts/fog/comments", content=raw, headers=headers)
            assert answer.status_code in (303, 400, 413, 422), raw[:40]


class TestPlace:
    async def test_an_answer_stands_below_what_it_answers(self, site: TenantWorld) -> None:
        first = await Browser(site, "fog").comment("First")
        second = await Browser(site, "fog").comment("Second")
        answer = await Browser(site, "fog").comment("To first", parent_id=first)
        await Browser(site, "fog").comment("To the answer", parent_id=answer)
        await Browser(site, "fog").comment("To second", parent_id=second)
        assert nested(await Browser(site, "fog").page()) == [
            (1, "First"),
            (2, "To first"),
            (3, "To the answer"),
            (1, "Second"),
            (2, "To second"),
        ]

    async def test_only_what_readers_see_can_be_answered(
        self, site: TenantWorld, other_tenant: TenantWorld
    ) -> None:
        elsewhere = await site.published(title="Elsewhere")
        other = await site.create(
            "comments", {"post_id": elsewhere["id"], "author_name": "A", "body": "b"}
        )
        there = await other_tenant.published(title="There")
        foreign = await other_tenant.create(
            "comments", {"post_id": there["id"], "author_name": "A", "body": "b"}
        )
        browser = Browser(site, "fog")
        held = await browser.comment("Held back")
        await site.update("comments", held, {"status": "pending"})
        for parent in (other["id"], foreign["id"], held, "nonsense", "a" * 15, "' || 1"):
            answer = await browser.send("", body="Answer", parent_id=parent, **GUEST)
            assert answer.status_code == 422, parent
            assert problems(answer) == ["The comment you are replying to no longer exists."]
            assert "Answer" in answer.text

    async def test_a_refused_answer_is_open_where_it_was_written(self, site: TenantWorld) -> None:
        browser = Browser(site, "fog")
        first = await browser.comment("First")
        answer = await browser.send("", body="", parent_id=first, **GUEST)
        assert answer.status_code == 422
        assert f'id="answer-{first}-body-problem"' in answer.text
        assert "<details open" in answer.text

    async def test_the_form_leads_back_to_its_own_page(self, site: TenantWorld) -> None:
        browser = Browser(site, "fog")
        first = await browser.comment("First")
        answer = await browser.http.post(
            f"/posts/fog/comments?thread={first}&x=//evil.example",
            data={"body": "Answer", "parent_id": first, **GUEST},
            headers={"sec-fetch-site": "same-origin"},
        )
        assert answer.headers["location"].startswith(f"/posts/fog?thread={first}#comment-")

    async def test_only_a_form_that_is_sent_is_answered(self, site: TenantWorld) -> None:
        mine = await Browser(site, "fog").comment("First")
        for path in ("", f"/{mine}", f"/{mine}/delete"):
            answer = await site.guest.get(f"/posts/fog/comments{path}")
            assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        other = await Browser(site, "no-such-post").send("", body="x", **GUEST)
        assert other.status_code == 404

    async def test_the_public_api_still_approves_and_takes_what_it_took(
        self, site: TenantWorld
    ) -> None:
        [post] = await site.world.parts.records.find(
            site.world.collection("posts"), {"slug": "fog"}, tenant_id=site.id
        )
        await site.settings(comments_by="paid", comments_moderation="all")
        comment = {"post_id": post["id"], "author_name": "Api", "body": "Anything"}
        owner = await site.owner()
        made = await owner.api.post(records_of("comments"), json=comment)
        assert made.json()["status"] == "approved"
        assert (await site.guest.post(records_of("comments"), json=comment)).status_code in (
            401,
            403,
        )
