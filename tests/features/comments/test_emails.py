"""Emails about comments: to the post's authors and to who was answered, until they say no."""

from __future__ import annotations

import asyncio
import re
from email.message import EmailMessage
from urllib.parse import urlsplit

import pytest
from tests.features.comments.readers import Browser
from tests.outside.mail.offices import Office, everything, text_of
from tests.world import Account, TenantWorld

from masthead.base.caller import system
from masthead.features.posts.collection import posts

HTML = {"accept": "text/html"}


@pytest.fixture
async def site(office: Office) -> TenantWorld:
    tenant = await office.world.new_tenant("site")
    await tenant.settings(
        site_name="Die Zeitung", comments_by="everyone", comments_moderation="guests"
    )
    return tenant


@pytest.fixture
async def author(site: TenantWorld) -> Account:
    """The author of the post `fog`."""
    account = await site.owner(email="nell@example.com", name="Nell", role="author")
    await site.published(title="Fog", authors=[account.id])
    return account


@pytest.fixture
async def owner(site: TenantWorld) -> Account:
    account = await site.owner(email="olga@example.com", name="Olga")
    await site.update("tenants", site.id, {"owner_id": account.id})
    return account


async def mails_to(office: Office, address: str) -> list[EmailMessage]:
    return [mail for mail in await office.mails() if mail["to"].addresses[0].addr_spec == address]


def path_in(text: str, name: str) -> str:
    [link] = {each for each in re.findall(r"http://\S+", text) if name in each}
    parts = urlsplit(link)
    return f"{parts.path}?{parts.query}"


class TestToAuthors:
    async def test_a_new_comment_is_mailed_to_the_posts_authors(
        self, office: Office, site: TenantWorld, author: Account, owner: Account
    ) -> None:
        member = await site.member(email="mia@example.com", name="Mia")
        mine = await Browser(site, "fog", member).comment("Well <b>said</b>")
        [mail] = await mails_to(office, author.email)
        assert mail["subject"] == "New comment on “Fog”"
        assert "Mia commented" in text_of(mail)
        assert "Well <b>said</b>" in text_of(mail)
        assert "Well &lt;b&gt;said&lt;/b&gt;" in text_of(mail, "html")
        link = path_in(text_of(mail), "/posts/fog")
        assert "Well" in (await site.guest.get(link)).text
        assert f"#comment-{mine}" in text_of(mail)
        assert await mails_to(office, owner.email) == []
        assert member.email not in str(mail)

    async def test_without_an_author_who_can_sign_in_it_goes_to_the_owner(
        self, office: Office, site: TenantWorld, owner: Account
    ) -> None:
        imported = await site.create(
            "_superusers", {"email": "old@example.com", "name": "Old", "role": "author"}
        )
        await site.published(title="Rain", authors=[imported["id"]])
        await site.published(title="Snow")
        member = await site.member(name="Mia")
        for slug in ("rain", "snow"):
            await Browser(site, slug, member).comment("Hello")
        assert len(await mails_to(office, owner.email)) == 2
        assert await mails_to(office, "old@example.com") == []

    async def test_nobody_is_mailed_about_their_own_comment(
        self, office: Office, site: TenantWorld, author: Account
    ) -> None:
        mine = await Browser(site, "fog", author).comment("I wrote this")
        await Browser(site, "fog", author).comment("And this", parent_id=mine)
        assert await office.mails() == []

    async def test_a_waiting_comment_is_approved_by_a_link_with_a_button(
        self, office: Office, site: TenantWorld, author: Account, owner: Account
    ) -> None:
        waiting = await Browser(site, "fog").comment("Please let me in")
        [to_author] = await mails_to(office, author.email)
        assert "An editor or an owner has to approve it" in text_of(to_author)
        assert "approve-comment" not in text_of(to_author)
        [mail] = await mails_to(office, owner.email)
        path = path_in(text_of(mail), "approve-comment")
        before = await everything(office.world)
        page = await site.guest.get(path, headers=HTML)
        assert (page.status_code, "Please let me in" in page.text) == (200, True)
        assert before["comments"] == (await everything(office.world))["comments"]
        assert "Please let me in" not in await Browser(site, "fog").text()
        done = await site.guest.post(path, headers=HTML)
        assert (done.status_code, "approved" in done.text) == (200, True)
        assert "Please let me in" in await Browser(site, "fog").text()
        assert (await site.event_names()).count("comment.approved") == 1
        again = await site.guest.post(path, headers=HTML)
        assert "no longer waiting" in again.text
        await site.update("comments", waiting, {"status": "spam"})
        await site.guest.post(path, headers=HTML)
        assert "Please let me in" not in await Browser(site, "fog").text()

    async def test_an_approval_needs_the_right_to_approve_when_it_is_used(
        self, office: Office, site: TenantWorld, author: Account, owner: Account
    ) -> None:
        editor = await site.owner(email="ed@example.com", name="Ed", role="editor")
        await site.published(title="Rain", authors=[editor.id])
        await Browser(site, "rain").comment("Let me in")
        path = path_in(text_of((await mails_to(office, editor.email))[0]), "approve-comment")
        await site.update("_superusers", editor.id, {"role": "author"})
        assert (await site.guest.post(path)).status_code in (403, 404)
        records = site.world.parts.records
        await records.delete(system(site.id), site.world.collection("_superusers"), editor.id)
        assert (await site.guest.post(path)).status_code == 400
        assert "Let me in" not in await Browser(site, "rain").text()

    async def test_links_of_another_site_or_another_comment_are_refused(
        self, office: Office, site: TenantWorld, owner: Account
    ) -> None:
        other = await office.world.new_tenant("other")
        await site.published(title="Fog")
        one = await Browser(site, "fog").comment("One")
        two = await Browser(site, "fog").comment("Two", email="else@example.com")
        texts = [text_of(mail) for mail in await mails_to(office, owner.email)]
        paths = [path_in(text, "approve-comment") for text in texts if one in text]
        off = path_in(texts[0], "comment-mails")
        for path in (
            paths[0].replace(one, two),
            paths[0].replace("approve-comment", "comment-mails"),
            paths[0][:-1],
            off.replace(owner.id, "a" * 15),
            off.replace("_superusers", "blog_members"),
            off.replace("_superusers", "posts"),
            off + "&token=x",
            "/member/comment-mails",
            "/member/approve-comment?token=%ff",
        ):
            assert (await site.guest.post(path)).status_code == 400, path
        for path in (paths[0], off):
            assert (await other.guest.post(path)).status_code == 400, path


class TestToAnswered:
    async def test_who_was_answered_is_told_once_it_can_be_seen(
        self, office: Office, site: TenantWorld, author: Account, owner: Account
    ) -> None:
        member = await site.member(email="mia@example.com", name="Mia")
        mine = await Browser(site, "fog", member).comment("A question?")
        answer = await Browser(site, "fog").comment("An answer", parent_id=mine)
        assert await mails_to(office, member.email) == []
        await site.update("comments", answer, {"status": "approved"})
        [mail] = await mails_to(office, member.email)
        assert mail["subject"] == "Gale Guest replied to your comment"
        text = text_of(mail)
        assert "An answer" in text
        assert "A question?" in text
        link = path_in(text, "/posts/fog")
        assert link == f"/posts/fog?thread={mine}"
        assert "An answer" in (await site.guest.get(link)).text
        for status in ("pending", "approved", "spam", "approved"):
            await site.update("comments", answer, {"status": status})
        assert len(await mails_to(office, member.email)) == 1

    @pytest.mark.parametrize("change", [{"visibility": "paid"}, {"status": "draft"}])
    async def test_who_may_not_read_the_post_any_more_is_sent_nothing_of_it(
        self, office: Office, site: TenantWorld, author: Account, change: dict[str, str]
    ) -> None:
        member = await site.member(email="mia@example.com", name="Mia")
        own = await Browser(site, "fog", member).comment("Mine.")
        [post] = await office.world.parts.records.find(posts, {"slug": "fog"}, tenant_id=site.id)
        await site.update("posts", post["id"], change)
        answer = {"post_id": post["id"], "parent_id": own, "body": "Behind the wall."}
        await site.create("comments", answer | {"author_name": "Zoe", "status": "approved"})
        assert await mails_to(office, member.email) == []

    async def test_a_guest_is_never_mailed(
        self, office: Office, site: TenantWorld, author: Account
    ) -> None:
        await site.settings(comments_moderation="none")
        member = await site.member(name="Mia")
        victim = await Browser(site, "fog").comment("Mine", email="victim@example.com")
        await Browser(site, "fog", member).comment("Answer", parent_id=victim)
        assert await mails_to(office, "victim@example.com") == []

    async def test_an_author_of_the_post_who_was_answered_gets_one_mail(
        self, office: Office, site: TenantWorld, author: Account
    ) -> None:
        mine = await Browser(site, "fog", author).comment("Ask me anything")
        member = await site.member(name="Mia")
        await Browser(site, "fog", member).comment("Why?", parent_id=mine)
        assert len(await mails_to(office, author.email)) == 1

    async def test_a_name_cannot_write_into_a_mails_head(
        self, office: Office, site: TenantWorld, author: Account
    ) -> None:
        await site.settings(comments_moderation="none")
        member = await site.member(email="mia@example.com", name="Mia")
        mine = await Browser(site, "fog", member).comment("Mine")
        name = "Eve\r\nBcc: all@example.com =?utf-8?q?x=0d=0aTo:?="
        await Browser(site, "fog").comment("Hi", name=name, parent_id=mine)
        [mail] = await mails_to(office, member.email)
        assert mail["bcc"] is None
        assert mail["subject"] == (
            "Eve Bcc: all@example.com =?utf-8?q?x=0d=0aTo:?= replied to your comment"
        )


class TestOff:
    async def test_one_click_ends_the_mails_and_opening_the_link_does_not(
        self, office: Office, site: TenantWorld, author: Account
    ) -> None:
        member = await site.member(email="mia@example.com", name="Mia")
        await Browser(site, "fog", member).comment("One")
        [mail] = await mails_to(office, author.email)
        assert mail["list-unsubscribe-post"] == "List-Unsubscribe=One-Click"
        link = urlsplit(str(mail["list-unsubscribe"]).strip("<>"))
        path = f"{link.path}?{link.query}"
        page = await site.guest.get(path, headers=HTML)
        assert (page.status_code, "<button" in page.text) == (200, True)
        await Browser(site, "fog", member).comment("Two")
        assert len(await mails_to(office, author.email)) == 2
        await site.settings(read_only_mode=True)
        done = await site.guest.post(path, data={"List-Unsubscribe": "One-Click"})
        assert done.status_code == 200
        await site.settings(read_only_mode=False)
        await Browser(site, "fog", member).comment("Three")
        assert len(await mails_to(office, author.email)) == 2

    async def test_a_member_turns_answers_off_and_on(
        self, office: Office, site: TenantWorld, author: Account
    ) -> None:
        member = await site.member(email="mia@example.com", name="Mia")
        mine = await Browser(site, "fog", member).comment("Mine")
        await Browser(site, "fog", author).comment("Answer 1", parent_id=mine)
        [mail] = await mails_to(office, member.email)
        path = path_in(text_of(mail), "comment-mails")
        assert (await site.guest.post(path)).status_code == 200
        await Browser(site, "fog", author).comment("Answer 2", parent_id=mine)
        assert len(await mails_to(office, member.email)) == 1
        await site.update("blog_members", member.id, {"comment_mails_off": False})
        await Browser(site, "fog", author).comment("Answer 3", parent_id=mine)
        assert len(await mails_to(office, member.email)) == 2

    async def test_the_link_of_an_account_that_is_gone_still_answers(
        self, office: Office, site: TenantWorld, author: Account, owner: Account
    ) -> None:
        await Browser(site, "fog", await site.member(name="Mia")).comment("One")
        path = path_in(text_of((await mails_to(office, author.email))[0]), "comment-mails")
        records = site.world.parts.records
        await records.delete(system(site.id), site.world.collection("_superusers"), author.id)
        assert (await site.guest.post(path)).status_code == 200


class TestOnce:
    @pytest.mark.both_databases
    async def test_a_form_that_is_sent_twice_at_once_is_one_comment_and_one_mail(
        self, office: Office, site: TenantWorld, author: Account
    ) -> None:
        browser = Browser(site, "fog", await site.member(name="Mia"))
        token = await browser.token()
        answers = await asyncio.gather(
            *(browser.send("", body="Twice", form_token=token) for _ in range(3))
        )
        assert sorted(each.status_code for each in answers) == [303, 422, 422]
        assert len(await mails_to(office, author.email)) == 1

    async def test_a_comment_that_is_refused_mails_nobody(
        self, office: Office, site: TenantWorld, author: Account
    ) -> None:
        browser = Browser(site, "fog", await site.member(name="Mia"))
        await browser.comment("One")
        assert (await browser.send("", body="One")).status_code == 422
        assert (await browser.send("", body="Two", website="x")).status_code == 303
        assert len(await office.mails()) == 1

    async def test_comments_of_the_api_are_mailed_and_imported_ones_are_not(
        self, office: Office, site: TenantWorld, author: Account
    ) -> None:
        [post] = await site.world.parts.records.find(
            site.world.collection("posts"), {"slug": "fog"}, tenant_id=site.id
        )
        given = {"post_id": post["id"], "author_name": "Api", "body": "From elsewhere"}
        await site.create("comments", given)
        assert len(await mails_to(office, author.email)) == 1
        records, comments = site.world.parts.records, site.world.collection("comments")
        async with records.unit(system(site.id), emit_events=False) as unit:
            await unit.create(comments, given)
        await site.create("comments", given | {"status": "spam"})
        assert len(await mails_to(office, author.email)) == 1
