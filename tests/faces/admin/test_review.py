"""Review: a writer hands a draft in, editors and owners hear of it, and it goes live or back."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tests.faces.admin.visitor import Visitor, hidden_in, visitor
from tests.outside.mail.offices import Office, text_of
from tests.v1.keys import key_client
from tests.world import Account, TenantWorld, records_of

from masthead.engine.records.collection import Record

NOTE = "Who is the warden?\nAnd cut the second part."


@dataclass
class Newsroom:
    """A site with an owner, an editor and a contributor, and its emails."""

    office: Office
    tenant: TenantWorld
    owner: Account
    editor: Account
    writer: Account

    def browser(self, account: Account) -> Visitor:
        return visitor(self.tenant.world, account, self.tenant.host)

    async def post(self, post_id: str) -> Record:
        answer = await self.owner.api.get(records_of("posts", post_id))
        assert answer.status_code == 200
        return dict(answer.json())

    async def subjects(self) -> list[tuple[str, str]]:
        """To whom, and what about, since the last time."""
        found = [
            (mail["to"].addresses[0].addr_spec, str(mail["subject"]))
            for mail in await self.office.mails()
        ]
        for path in self.office.folder.glob("*.eml"):
            path.unlink()
        return sorted(found)


@pytest.fixture
async def newsroom(office: Office) -> Newsroom:
    tenant = await office.world.new_tenant()
    return Newsroom(
        office,
        tenant,
        await tenant.owner(name="Nell", email="nell@example.com"),
        await tenant.owner(name="Ines", email="ines@example.com", role="editor"),
        await tenant.owner(name="Tobias", email="tobias@example.com", role="contributor"),
    )


async def test_a_draft_is_handed_in_sent_back_and_published(newsroom: Newsroom) -> None:
    writer, editor = newsroom.browser(newsroom.writer), newsroom.browser(newsroom.editor)
    page = (await writer.get("/admin/posts/new")).text
    assert "Publish…" not in page
    answer = await writer.post("/admin/posts/new", {"title": "Eels", "content_html": "<p>One</p>"})
    own = answer.headers["location"]
    form = hidden_in((await writer.get(own)).text)
    given = {**form, "action": "ready", "title": "Eels, counted", "content_html": "<p>Two</p>"}
    page = await writer.follow(await writer.post(own, given))
    assert "It is ready for review." in page
    post_id = own.rpartition("/")[2]
    stored = await newsroom.post(post_id)
    assert (stored["title"], stored["review"]) == ("Eels, counted", "ready")
    told = "Ready for review at tenant: “Eels, counted”"
    assert await newsroom.subjects() == [("ines@example.com", told), ("nell@example.com", told)]

    assert "“Eels, counted” is ready for review." in (await editor.get("/admin")).text
    assert "is ready for review." not in (await writer.get("/admin")).text
    assert "Eels, counted" in (await editor.get("/admin/posts?status=ready")).text
    assert "Marked by Tobias" in (await editor.get(own)).text

    back = f"{own}/send-back"
    form = hidden_in((await editor.get(back)).text)
    refused = await editor.post(back, {**form, "review_note": " \r\n"})
    assert refused.status_code == 422
    sent = await editor.post(back, {**form, "review_note": NOTE.replace("\n", "\r\n")})
    assert "It is sent back." in await editor.follow(sent)
    stored = await newsroom.post(post_id)
    assert (stored["review"], stored["review_note"]) == ("", NOTE)
    mail = await newsroom.office.mail_to("tobias@example.com")
    assert "Who is the warden?" in text_of(mail)
    told = "Sent back at tenant: “Eels, counted”"
    assert await newsroom.subjects() == [("tobias@example.com", told)]
    page = (await writer.get(own)).text
    assert "Sent back by Ines:" in page
    assert NOTE in page

    await newsroom.writer.api.patch(records_of("posts", post_id), json={"review": "ready"})
    assert (await newsroom.post(post_id))["review_note"] == ""
    assert len(await newsroom.subjects()) == 2
    await newsroom.editor.api.patch(records_of("posts", post_id), json={"status": "published"})
    assert (await newsroom.post(post_id))["review"] == ""
    assert await newsroom.subjects() == []
    page = (await writer.get(own)).text
    assert "an editor or an owner can change it" in page
    assert "content_html" not in page


async def test_a_hand_in_that_was_taken_back_is_not_mailed(newsroom: Newsroom) -> None:
    one = records_of("posts")
    made = await newsroom.writer.api.post(one, json={"title": "Eels", "review": "ready"})
    own = records_of("posts", made.json()["id"])
    assert (await newsroom.writer.api.patch(own, json={"review": ""})).status_code == 200
    assert await newsroom.subjects() == []


async def test_who_never_signed_in_hears_nothing_of_drafts(newsroom: Newsroom) -> None:
    """An invitation may have gone to the wrong address."""
    await newsroom.tenant.create("_superusers", {"email": "typo@example.com", "role": "editor"})
    made = await newsroom.writer.api.post(
        records_of("posts"), json={"title": "Eels", "review": "ready"}
    )
    assert made.status_code == 200
    assert [to for to, _ in await newsroom.subjects()] == ["ines@example.com", "nell@example.com"]


async def test_an_owner_is_not_told_of_an_own_hand_in(newsroom: Newsroom) -> None:
    await newsroom.owner.api.post(records_of("posts"), json={"title": "Eels", "review": "ready"})
    assert [to for to, _ in await newsroom.subjects()] == ["ines@example.com"]


async def test_refusals(newsroom: Newsroom) -> None:
    post = await newsroom.tenant.post(authors=[newsroom.writer.id], review="ready")
    own, writer = f"/admin/posts/{post['id']}", newsroom.browser(newsroom.writer)
    page = (await writer.get(own)).text
    form = {**hidden_in(page), "title": "Mine", "content_html": "x"}
    for answer in (
        await writer.post(f"{own}/send-back", {"review_note": "By myself"}),
        await writer.post("/admin/posts/bulk", {"id": post["id"], "action": "publish"}),
    ):
        assert answer.status_code in (303, 403), answer.text
    dialog = (await writer.get(f"{own}/publish")).text
    answer = await writer.post(f"{own}/publish", hidden_in(dialog))
    assert answer.status_code == 403
    stored = await newsroom.post(post["id"])
    assert (stored["status"], stored["review"]) == ("draft", "ready")

    published = await newsroom.tenant.published(authors=[newsroom.writer.id])
    one = records_of("posts", published["id"])
    assert (await newsroom.owner.api.patch(one, json={"review": "ready"})).status_code == 400
    for action in ("save", "ready", "discard"):
        answer = await writer.post(f"/admin/posts/{published['id']}", {**form, "action": action})
        assert answer.status_code in (400, 403, 404, 409), answer.text
    assert (await newsroom.post(published["id"]))["title"] == published["title"]


async def test_the_public_api_does_not_show_it(newsroom: Newsroom) -> None:
    post = await newsroom.tenant.post(review="ready")
    key = await key_client(newsroom.tenant)
    answer = await key.get(f"/api/v1/posts/{post['id']}")
    assert answer.status_code == 200
    assert not {each for each in answer.json() if each.startswith("review")}
