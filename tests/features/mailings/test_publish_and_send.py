"""The dialog before publishing also sends the post: as a second step, which can be refused."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.faces.admin.filled_form import filled
from tests.faces.admin.visitor import Visitor, staff
from tests.features.mailings.conftest import Press

from masthead.engine.records.collection import Record
from masthead.features.mailings.collection import mailings
from masthead.features.mailings.letter import GMAIL_BYTES
from masthead.features.posts.collection import posts

LATER = "2040-02-01T09:00"


async def made(press: Press) -> list[Record]:
    return await press.world.parts.records.find(mailings, {}, tenant_id=press.tenant.id)


async def stored(press: Press, post: Record) -> Record:
    records = press.world.parts.records
    return (await records.find(posts, {"id": post["id"]}, tenant_id=press.tenant.id))[0]


@pytest.fixture
async def owner(press: Press) -> Visitor:
    return (await staff(press.tenant, "owner"))[0]


async def said(owner: Visitor, path: str, **chosen: str) -> tuple[str, dict[str, str]]:
    """Returns what the dialog says about a choice, and its form after that."""
    page = filled((await owner.get(path)).text) | chosen
    answer = await owner.post(path, page)
    assert answer.status_code == 200
    return " ".join(answer.text.split()), filled(answer.text) | chosen


async def test_publishing_mails_nobody_unless_it_was_chosen(press: Press, owner: Visitor) -> None:
    await press.readers(2)
    post = await press.tenant.post(title="Low tide")
    path = f"/admin/posts/{post['id']}/publish"
    page = (await owner.get(path)).text
    assert "Nobody gets an email." in page
    assert (await owner.post(path, filled(page))).status_code == 303
    assert (await stored(press, post))["status"] == "published"
    assert await made(press) == []
    assert "Nobody gets an email." in (await owner.get(path)).text


async def test_it_is_published_and_mailed_to_those_who_were_said(
    press: Press, owner: Visitor
) -> None:
    await press.readers(3)
    await press.readers(2, "paid", tier="paid")
    post = await press.tenant.post(title="Low tide")
    path = f"/admin/posts/{post['id']}/publish"
    page, form = await said(owner, path, to="both", audience="paid", subject="From the coast")
    assert "“From the coast” will be emailed now to 2 paid members of" in page
    assert "Publish and send 2 emails" in page
    assert "KB of the 102 KB that Gmail shows" in page
    assert await made(press) == []
    begun = await owner.post(path, form)
    assert begun.status_code == 303
    [mailing] = await made(press)
    assert begun.headers["location"] == f"/admin/mailings/{mailing['id']}"
    await press.send()
    assert sorted(press.addresses) == ["paid0@example.com", "paid1@example.com"]
    assert {each["subject"] for each in press.postbox.letters} == {"From the coast"}
    after = (await owner.get(path)).text
    assert "It was emailed to 2 readers of" in after


async def test_a_post_that_is_only_emailed_has_no_page_and_no_link_to_one(
    press: Press, owner: Visitor
) -> None:
    await press.readers(1)
    await press.readers(1, "paid", tier="paid")
    text = "<p>For all</p><hr class='paywall'><p>Only for some</p>"
    values = {"title": "Low tide", "content_html": text, "visibility": "paid"}
    post = await press.tenant.post(**values, email_only=True)
    path = f"/admin/posts/{post['id']}/publish"
    # The email is chosen without a word: without it nobody could read the post.
    page = (await owner.get(path)).text
    assert "It has no page on" in page
    assert "Publish and send 2 emails" in page
    assert (await owner.post(path, filled(page))).status_code == 303
    await press.send()
    assert len(press.addresses) == 2
    for address, letter in zip(press.addresses, press.postbox.letters, strict=True):
        for kind in ("plain", "html"):
            part = letter.get_body((kind,))
            assert part is not None
            content = part.get_content()
            assert "For all" in content
            assert ("Only for some" in content) is address.startswith("paid")
            assert "/posts/low-tide" not in content
            assert "View in browser" not in content
    assert (await press.tenant.guest.get("/posts/low-tide")).status_code == 404


async def test_a_scheduled_post_is_mailed_when_it_publishes_itself(
    press: Press, owner: Visitor
) -> None:
    await press.readers(1)
    post = await press.tenant.post(title="Low tide")
    path = f"/admin/posts/{post['id']}/publish"
    chosen = {"what": "schedule", "publish_on": LATER, "to": "both"}
    page, form = await said(owner, path, **chosen)
    assert "will be emailed then to 1 member of" in page
    await owner.follow(await owner.post(path, form))
    [mailing] = await made(press)
    assert (mailing["status"], mailing["scheduled_for"]) == (
        "scheduled",
        "2040-02-01T09:00:00.000Z",
    )
    again = " ".join((await owner.get(path)).text.split())
    assert "on Wednesday, 1 February 2040 at 09:00 (UTC), or when it is published" in again
    assert 'name="to"' not in again
    press.world.clock.moment = press.world.clock.moment.replace(year=2040, month=2, day=2)
    await press.send()
    await press.send()
    assert press.addresses == ["reader0@example.com"]


async def test_what_can_not_be_mailed_is_not_published(press: Press, owner: Visitor) -> None:
    await press.readers(1)
    post = await press.tenant.post(title="Low tide")
    path = f"/admin/posts/{post['id']}/publish"
    for wrong in (
        {"audience": "paid"},
        {"labels": "nobody"},
        {"newsletter": "none"},
        {"subject": "x" * 256},
    ):
        page, form = await said(owner, path, to="both", **wrong)
        assert "Publish and send" not in page or "subject" in wrong
        answer = await owner.post(path, form)
        assert answer.status_code == 422, wrong
        assert (await stored(press, post))["status"] == "draft"
    assert await made(press) == []


async def test_a_plan_that_is_too_small_is_said_before_anything_happens(
    press: Press, owner: Visitor
) -> None:
    await press.readers(2)
    await press.tenant.update("tenants", press.tenant.id, {"mails_per_month": 1})
    post = await press.tenant.post(title="Low tide")
    path = f"/admin/posts/{post['id']}/publish"
    _, form = await said(owner, path, to="both")
    answer = await owner.post(path, form)
    assert answer.status_code == 422
    assert "The plan includes 1 recipients a month" in answer.text
    assert (await stored(press, post))["status"] == "draft"


async def test_a_published_post_is_mailed_at_a_time(press: Press, owner: Visitor) -> None:
    await press.readers(2)
    post = await press.tenant.published(title="Low tide")
    path = f"/admin/posts/{post['id']}/mail"
    page, form = await said(owner, path, when="later", send_at=LATER)
    assert "will be emailed on Wednesday, 1 February 2040 at 09:00 (UTC) to 2 members of" in page
    assert "Schedule 2 emails" in page
    shown = await owner.follow(await owner.post(path, form))
    assert "Begins 1 Feb 2040, 09:00" in shown
    [mailing] = await made(press)
    assert mailing["status"] == "scheduled"
    press.world.clock.moment += timedelta(days=1)
    assert await press.send() == 0


@pytest.mark.parametrize("typed", ["", "2001-01-01T09:00", "soon", "9999-12-31T23:59:61"])
async def test_a_time_must_lie_ahead(press: Press, owner: Visitor, typed: str) -> None:
    await press.readers(1)
    post = await press.tenant.published(title="Low tide")
    path = f"/admin/posts/{post['id']}/mail"
    _, form = await said(owner, path, when="later", send_at=typed)
    assert (await owner.post(path, form)).status_code == 422
    assert await made(press) == []


async def test_a_test_is_of_the_chosen_newsletter_and_audience(
    press: Press, owner: Visitor
) -> None:
    letters = {"name": "Letters", "slug": "letters", "sender_name": "Ada of Letters"}
    await press.tenant.create("newsletters", letters)
    html = "<p>Opening</p><!--more--><p>The secret</p>"
    post = await press.tenant.post(title="Low tide", visibility="paid", content_html=html)
    dialog = f"/admin/posts/{post['id']}/publish"
    chosen = {"to": "both", "newsletter": "letters", "audience": "free", "subject": "Hello"}
    page, form = await said(owner, dialog, **chosen)
    assert f'formaction="/admin/posts/{post["id"]}/mail/test"' in page
    answer = await owner.post(f"/admin/posts/{post['id']}/mail/test", form)
    back = await owner.follow(answer)
    assert answer.headers["location"].startswith(f"{dialog}?")
    assert filled(back)["subject"] == "Hello"
    assert '<option value="letters" selected>' in " ".join(back.split())
    await press.send()
    [letter] = press.postbox.letters
    assert letter["subject"] == "[Test] Hello"
    parts = "".join(part.get_content() for part in letter.walk() if not part.is_multipart())
    assert "Opening" in parts
    assert "The secret" not in parts
    everyone = form | {"visibility": "public"}
    await owner.follow(await owner.post(f"/admin/posts/{post['id']}/mail/test", everyone))
    await press.send()
    shown = press.postbox.letters[-1]
    assert "The secret" in "".join(
        part.get_content() for part in shown.walk() if not part.is_multipart()
    )


async def test_gmails_limit_is_said_before_sending(press: Press, owner: Visitor) -> None:
    await press.readers(1)
    html = "<p>" + "tide " * 20 + "</p>"
    long = html * (GMAIL_BYTES // len(html) + 1)
    post = await press.tenant.published(title="Long", content_html=long)
    page = (await owner.get(f"/admin/posts/{post['id']}/mail")).text
    assert "It is too long for Gmail." in page
    assert "Send 1 email" in page


async def test_the_mail_shows_what_is_on_the_site_and_not_what_waits(
    press: Press, owner: Visitor
) -> None:
    await press.readers(1)
    post = await press.tenant.published(title="Tides", content_html="<p>Live text</p>")
    form = filled((await owner.get(f"/admin/posts/{post['id']}")).text)
    await owner.post(f"/admin/posts/{post['id']}", form | {"content_html": "<p>Waits</p>"})
    live = await owner.get(f"/admin/posts/{post['id']}/email/page?live=1")
    assert "Live text" in live.text
    assert "Waits" in (await owner.get(f"/admin/posts/{post['id']}/email/page")).text


async def test_authors_publish_without_email_and_learn_whom_to_ask(press: Press) -> None:
    await press.readers(1)
    author, account = await staff(press.tenant, "author")
    post = await press.tenant.post(title="Low tide", authors=[account.id])
    path = f"/admin/posts/{post['id']}/publish"
    page = (await author.get(path)).text
    assert 'name="to"' not in page
    assert "Nobody gets an email. To email it to members, ask an editor or an owner." in page
    assert (await author.post(path, filled(page) | {"to": "both"})).status_code == 303
    assert await made(press) == []


async def test_editors_publish_and_email(press: Press) -> None:
    await press.readers(1)
    editor, _ = await staff(press.tenant, "editor")
    post = await press.tenant.post(title="Low tide")
    path = f"/admin/posts/{post['id']}/publish"
    form = filled((await editor.get(path)).text) | {"to": "both"}
    form = filled((await editor.post(path, form)).text)
    assert (await editor.post(path, form)).status_code == 303
    [mailing] = await made(press)
    assert mailing["status"] == "sending"
