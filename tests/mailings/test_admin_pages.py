"""Owners mail a post after it was published, and see what became of it."""

from __future__ import annotations

from tests.admin.filled_form import filled
from tests.admin.visitor import Visitor, staff
from tests.mailings.conftest import Press

from masthead.mailings.collection import mailings
from masthead.records.collection import Record


async def stored(press: Press) -> Record:
    records = press.world.parts.records
    [found] = await records.find(mailings, {}, tenant_id=press.tenant.id)
    return found


async def opened(press: Press, **values: str) -> tuple[Visitor, str]:
    post = await press.tenant.published(title="Low tide", **values)
    owner, _ = await staff(press.tenant, "owner")
    return owner, f"/admin/posts/{post['id']}/mail"


async def test_the_page_says_how_many_get_it_and_sends_it_once(press: Press) -> None:
    await press.readers(3)
    await press.readers(2, "paid", tier="paid")
    owner, path = await opened(press)
    page = (await owner.get(path)).text
    assert "is emailed now to 5 members of" in page
    paid = await owner.post(path, filled(page) | {"audience": "paid"})
    assert paid.status_code == 200
    assert "is emailed now to 2 paid members of" in paid.text
    begun = await owner.post(path, filled(paid.text) | {"subject": "Low tide"})
    assert begun.status_code == 303
    assert (await stored(press))["recipients"] == 2
    shown = await owner.follow(begun)
    assert "0 of 2" in " ".join(shown.split())
    await press.send()
    shown = " ".join((await owner.get(begun.headers["location"])).text.split())
    assert "2 of 2" in shown
    assert "every 2s" not in shown
    again = (await owner.get(path)).text
    assert "A post is emailed once." in again
    assert begun.headers["location"] in again
    assert "Low tide" in (await owner.get("/admin/mailings")).text


async def test_it_is_paused_resumed_and_cancelled(press: Press) -> None:
    await press.readers(2)
    owner, path = await opened(press)
    begun = await owner.post(path, filled((await owner.get(path)).text))
    own = begun.headers["location"]
    token = filled((await owner.get(own)).text)
    for name, status in (("pause", "paused"), ("resume", "sending"), ("cancel", "cancelled")):
        await owner.follow(await owner.post(own, token | {"do": name}))
        assert (await stored(press))["status"] == status
    page = await owner.follow(await owner.post(own, token | {"do": "resume"}))
    assert "has ended" in page
    assert (await owner.post(own, token | {"do": "explode"})).status_code == 400


async def test_a_draft_and_an_empty_list_have_no_button(press: Press) -> None:
    owner, path = await opened(press)
    page = (await owner.get(path)).text
    assert "Nobody gets it" in page
    assert "btn-primary" not in page.partition("outcome")[2]
    await press.readers(1)
    draft = await press.tenant.post(title="Draft")
    page = (await owner.get(f"/admin/posts/{draft['id']}/mail")).text
    assert "This post is a draft." in page
    form = filled(page)
    assert (await owner.post(f"/admin/posts/{draft['id']}/mail", form)).status_code == 422
    assert await press.world.parts.records.find(mailings, {}, tenant_id=press.tenant.id) == []


async def test_a_test_goes_to_oneself(press: Press) -> None:
    owner, path = await opened(press)
    page = filled((await owner.get(path)).text)
    await owner.follow(await owner.post(f"{path}/test", page))
    await press.send()
    [letter] = press.postbox.letters
    assert letter["subject"] == "[Test] Low tide"


async def test_only_owners_mail(press: Press) -> None:
    _, path = await opened(press)
    editor, _ = await staff(press.tenant, "editor")
    for each in (path, "/admin/mailings"):
        assert (await editor.get(each)).status_code in (403, 404)
