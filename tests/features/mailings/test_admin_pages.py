"""Owners and editors mail a post after it was published, and see what became of it."""

from __future__ import annotations

import re
from html import unescape

from tests.faces.admin.filled_form import filled
from tests.faces.admin.visitor import Visitor, staff
from tests.features.mailings.conftest import Press

from masthead.base.caller import system
from masthead.engine.audit.collection import audit_log
from masthead.engine.records.collection import Record
from masthead.features.mailings.collection import mailings
from masthead.features.members.collection import blog_members


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
    assert "will be emailed now to 5 members of" in page
    paid = await owner.post(path, filled(page) | {"audience": "paid"})
    assert paid.status_code == 200
    assert "will be emailed now to 2 paid members of" in paid.text
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
    assert "You can email a post only once." in again
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
    assert "Nobody would get it" in page
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


async def test_editors_mail_and_see_mailings(press: Press) -> None:
    await press.readers(2)
    _, path = await opened(press)
    editor, account = await staff(press.tenant, "editor")
    tried = await editor.post(f"{path}/test", filled((await editor.get(path)).text))
    assert tried.status_code == 303
    begun = await editor.post(path, filled((await editor.get(path)).text))
    own = begun.headers["location"]
    assert own in (await editor.get("/admin/mailings")).text
    assert "reader0@example.com" in (await editor.get(f"{own}/recipients?state=waiting")).text
    token = {"form_token": await editor.token()}
    for name, status in (("pause", "paused"), ("resume", "sending"), ("cancel", "cancelled")):
        await editor.follow(await editor.post(own, token | {"do": name}))
        assert (await stored(press))["status"] == status
    log = await press.world.parts.records.find(audit_log, {}, tenant_id=press.tenant.id, limit=50)
    about = [each["account_id"] for each in log if each["subject"] == "mailings"]
    assert set(about) == {account.id}


async def test_an_owner_can_keep_editors_from_mailing(press: Press) -> None:
    await press.readers(2)
    owner, path = await opened(press)
    form = filled((await owner.get("/admin/settings")).text)
    assert (await owner.post("/admin/settings", form)).status_code == 303
    editor, _ = await staff(press.tenant, "editor")
    post = (await editor.get(path.removesuffix("/mail"))).text
    assert f'href="{path}"' not in post
    form = filled((await owner.get(path)).text) | {"form_token": await editor.token()}
    for answer in (
        await editor.get(path),
        await editor.post(path, form),
        await editor.post(f"{path}/test", form),
    ):
        assert answer.status_code == 403
        assert "Ask an owner of the site." in unescape(answer.text)
    begun = await owner.post(path, filled((await owner.get(path)).text))
    own = begun.headers["location"]
    page = (await editor.get(own)).text
    assert "To pause or cancel it, ask an owner of the site." in page
    assert 'name="do"' not in page
    for name in ("pause", "cancel", "again"):
        assert (await editor.post(own, {"do": name})).status_code == 403
    assert (await editor.get(f"{own}/cancel")).status_code == 403
    assert (await stored(press))["status"] == "sending"
    await press.send()
    assert len(press.postbox.letters) == 2


async def test_authors_mail_nothing_and_learn_who_does(press: Press) -> None:
    _, path = await opened(press)
    author, _ = await staff(press.tenant, "author")
    for each in (path, "/admin/mailings"):
        answer = await author.get(each)
        assert answer.status_code == 403
        assert "Authors can&#39;t open this page. Ask an editor or an owner" in answer.text


async def test_recipients_are_shown_by_state_and_found_by_address(press: Press) -> None:
    kept, refused, leaving = await press.readers(3)
    press.postbox.unknown.add(refused["email"])
    owner, path = await opened(press)
    begun = await owner.post(path, filled((await owner.get(path)).text))
    own = begun.headers["location"]
    assert "reader0@example.com" in (await owner.get(f"{own}/recipients?state=waiting")).text
    await press.tenant.update("blog_members", leaving["id"], {"newsletter": False})
    await press.send()
    page = (await owner.get(own)).text
    assert f"{own}/recipients?state=failed" in page
    # Sent, refused, uncertain and unsubscribed are everyone; who bounced is among the refused.
    assert re.findall(r"<dd>(\d+)</dd>", page) == ["1", "1", "0", "1", "1", "0"]
    assert page.count("Also counted above.") == 2
    shown = (await owner.get(f"{own}/recipients?state=bounced")).text
    assert refused["email"] in shown
    assert "550" in shown
    assert kept["email"] not in shown
    found = (await owner.get(f"{own}/recipients?q={kept['email']}")).text
    assert kept["email"] in found
    assert refused["email"] not in found
    none = (await owner.get(f"{own}/recipients?q=nobody@example.com")).text
    assert "Nobody here" in none
    for odd in ("state=x", "after=%00", "q=%27%22", "state=failed&after=zzz"):
        assert (await owner.get(f"{own}/recipients?{odd}")).status_code == 200


async def test_the_page_of_a_member_has_each_newsletter_with_its_fate(press: Press) -> None:
    _, refused = await press.readers(2)
    press.postbox.unknown.add(refused["email"])
    owner, path = await opened(press)
    await owner.post(path, filled((await owner.get(path)).text))
    await press.send()
    page = " ".join((await owner.get(f"/admin/members/{refused['id']}?kind=mails")).text.split())
    assert "Low tide" in page
    assert "bounced" in page
    editor, _ = await staff(press.tenant, "editor")
    page = (await editor.get(f"/admin/members/{refused['id']}")).text
    assert "Low tide" in page
    assert "/admin/mailings/" not in page


async def test_what_can_not_be_taken_back_is_asked_first(press: Press) -> None:
    await press.readers(2)
    owner, path = await opened(press)
    begun = await owner.post(path, filled((await owner.get(path)).text))
    own = begun.headers["location"]
    asked = (await owner.get(f"{own}/cancel")).text
    assert "2 recipients will not get it." in asked
    assert (await stored(press))["status"] == "sending"
    assert "No recipient is uncertain." in await owner.follow(await owner.get(f"{own}/again"))


async def test_the_uncertain_are_emailed_again_on_purpose(press: Press) -> None:
    await press.readers(1)
    owner, path = await opened(press)
    begun = await owner.post(path, filled((await owner.get(path)).text))
    own = begun.headers["location"]
    press.postbox.silent.add("reader0@example.com")
    await press.send()
    press.postbox.silent.clear()
    assert (await stored(press))["uncertain"] == 1
    assert f"{own}/again" in (await owner.get(own)).text
    asked = (await owner.get(f"{own}/again")).text
    assert "1 person" in asked
    assert press.addresses.count("reader0@example.com") == 1
    await owner.follow(await owner.post(own, filled(asked) | {"do": "again"}))
    await press.send()
    after = await stored(press)
    assert (after["status"], after["sent"], after["uncertain"]) == ("sent", 1, 0)
    mailed = [each for each in press.postbox.letters if each["to"] == "reader0@example.com"]
    assert len({str(each["message-id"]) for each in mailed}) == 1


async def test_stopped_addresses_are_listed_and_lifted_on_purpose(press: Press) -> None:
    first, second, _ = await press.readers(3)
    records = press.world.parts.records
    for member, state in ((first, "bounced"), (second, "complained")):
        stamped = {"mail_state": state, "mail_state_reason": f"550 {state}"}
        async with records.unit(system(press.tenant.id)) as unit:
            await unit.update(blog_members, member["id"], {}, stamped=stamped)
    owner, _ = await staff(press.tenant, "owner")
    bounced = (await owner.get("/admin/members/stopped")).text
    assert "550 bounced" in bounced
    assert second["email"] not in bounced
    assert second["email"] in (await owner.get("/admin/members/stopped?kind=complained")).text
    assert first["email"] not in (await owner.get("/admin/members/stopped?q=nobody")).text
    lift = f"/admin/members/{second['id']}/mail-again?from=stopped"
    asked = (await owner.get(lift)).text
    assert "reported a newsletter as spam" in asked
    lifted = await owner.post(f"/admin/members/{second['id']}/mail-again", filled(asked))
    assert lifted.headers["location"] == "/admin/members/stopped"
    [after] = await records.find(blog_members, {"id": second["id"]}, tenant_id=press.tenant.id)
    assert after["mail_state"] == "ok"
    # The log never names a reader.
    activity = (await owner.get("/admin/activity")).text
    assert "mail_state" in activity
    assert second["email"] not in activity
    editor, _ = await staff(press.tenant, "editor")
    page = (await editor.get("/admin/members/stopped")).text
    assert first["email"] in page
    assert "mail-again" not in page
    assert (await editor.get(lift)).status_code in (403, 404)


async def test_newsletters_show_their_readers_and_growth(press: Press) -> None:
    first, *_ = await press.readers(3)
    await press.tenant.create("newsletters", {"name": "Tides", "slug": "tides"})
    await press.tenant.update("blog_members", first["id"], {"newsletters_off": ["tides"]})
    owner, _ = await staff(press.tenant, "owner")
    page = " ".join((await owner.get("/admin/settings/newsletters")).text.split())
    found = re.findall(r'<td class="r num fit"> ?([^ <]*) ?<span', page)
    assert found == ["3", "+3", "2", "+2"]
