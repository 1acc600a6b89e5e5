"""The author of a comment edits and deletes it for 15 minutes, and nobody else does."""

from __future__ import annotations

import pytest
from tests.features.comments.readers import GUEST, Browser, nested, number, problems, shown
from tests.world import TenantWorld, World

from masthead.base.caller import system
from masthead.faces.reader.posted_comments import COOKIE
from masthead.features.comments.discussion import NOT_YOURS


@pytest.fixture
async def site(tenant: TenantWorld) -> TenantWorld:
    await tenant.settings(comments_by="everyone", comments_moderation="none")
    await tenant.published(title="Fog")
    return tenant


async def body_of(site: TenantWorld, comment_id: str) -> str:
    comments = site.world.collection("comments")
    found = await site.world.parts.records.find(comments, {"id": comment_id}, tenant_id=site.id)
    return str(found[0]["body"]) if found else ""


async def browsers(site: TenantWorld) -> dict[str, Browser]:
    return {
        "guest": Browser(site, "fog"),
        "member": Browser(site, "fog", await site.member(name="Mia Member")),
        "staff": Browser(site, "fog", await site.owner(name="Olga Owner")),
    }


@pytest.mark.parametrize("who", ["guest", "member", "staff"])
async def test_its_author_edits_and_deletes_it(site: TenantWorld, who: str) -> None:
    browser = (await browsers(site))[who]
    mine = await browser.comment("First version")
    page = await browser.page()
    [text] = page.xpath(f"//form[@action='/posts/fog/comments/{mine}']//textarea/text()")
    assert text.strip() == "First version"
    answer = await browser.send(f"/{mine}", body="Second version")
    assert (answer.status_code, answer.headers["location"]) == (
        303,
        f"/posts/fog#comment-{mine}",
    )
    assert shown(await Browser(site, "fog").page()) == ["Second version"]
    answer = await browser.send(f"/{mine}/delete")
    assert (answer.status_code, answer.headers["location"]) == (303, "/posts/fog#comments")
    page = await Browser(site, "fog").page()
    assert (shown(page), number(page)) == ([], 0)
    assert (await site.event_names())[-1] == "comment.deleted"


@pytest.mark.parametrize("who", ["guest", "member", "staff"])
async def test_after_15_minutes_it_stays_as_it_is(site: TenantWorld, app: World, who: str) -> None:
    browser = (await browsers(site))[who]
    mine = await browser.comment("Hasty")
    app.clock.advance(minutes=14, seconds=50)
    assert f"/comments/{mine}/delete" in await browser.text()
    app.clock.advance(seconds=11)
    assert f"/comments/{mine}/delete" not in await browser.text()
    for path in (f"/{mine}", f"/{mine}/delete"):
        answer = await browser.send(path, body="Regret")
        assert answer.status_code == 403
        assert NOT_YOURS in answer.text
    assert await body_of(site, mine) == "Hasty"


@pytest.mark.parametrize("whose", ["guest", "member", "staff"])
async def test_nobody_else_can_change_it(
    site: TenantWorld, other_tenant: TenantWorld, whose: str
) -> None:
    readers = await browsers(site)
    mine = await readers[whose].comment("Mine")
    await other_tenant.settings(comments_by="everyone")
    await other_tenant.published(title="Fog")
    strangers = {
        "another guest": Browser(site, "fog"),
        "another member": Browser(site, "fog", await site.member(name="Other")),
        "another site's owner": Browser(site, "fog", await other_tenant.owner(name="Else")),
        **{who: each for who, each in readers.items() if who != whose},
    }
    for who, browser in strangers.items():
        assert f"/comments/{mine}/delete" not in await browser.text(), who
        for path in (f"/{mine}", f"/{mine}/delete"):
            answer = await browser.send(path, body="Not mine")
            assert answer.status_code == 403, (who, path)
    there = Browser(other_tenant, "fog")
    there.http.cookies = readers[whose].http.cookies
    for path in (f"/{mine}", f"/{mine}/delete"):
        assert (await there.send(path, body="Not mine")).status_code == 404
    assert await body_of(site, mine) == "Mine"


async def test_signing_out_leaves_no_right_to_change_behind(site: TenantWorld) -> None:
    member = Browser(site, "fog", await site.member(name="Mia"))
    mine = await member.comment("Mine")
    next_person = Browser(site, "fog")
    next_person.http.cookies = member.http.cookies
    assert (await next_person.send(f"/{mine}/delete")).status_code == 403
    assert await body_of(site, mine) == "Mine"


async def test_a_forged_cookie_counts_for_nothing(
    site: TenantWorld, other_tenant: TenantWorld
) -> None:
    browser = Browser(site, "fog")
    mine = await browser.comment("Mine")
    value = browser.http.cookies[COOKIE]
    expires, ids, signature = value.split(".")
    await other_tenant.settings(comments_by="everyone", comments_moderation="none")
    await other_tenant.published(title="Fog")
    elsewhere = Browser(other_tenant, "fog")
    theirs = await elsewhere.comment("Theirs")
    forged = [
        f"{expires}.{mine}.{'0' * 64}",
        f"{int(expires) + 900}.{ids}.{signature}",
        f"{expires}.{ids}-{theirs}.{signature}",
        elsewhere.http.cookies[COOKIE].replace(theirs, mine),
        "",
        "..",
        "x.y.z",
        f"{expires}.{ids}",
        value[:-1],
        "é" * 30,
        "9" * 5_000,
    ]
    for cookie in forged:
        stranger = Browser(site, "fog")
        headers = {"cookie": f"{COOKIE}={cookie}".encode()}
        page = await stranger.http.get("/posts/fog", headers=headers)
        assert page.headers["cache-control"].startswith("public"), cookie[:80]
        answer = await stranger.http.post(
            f"/posts/fog/comments/{mine}/delete",
            data={"x": "y"},
            headers={"sec-fetch-site": "same-origin", **headers},
        )
        assert answer.status_code == 403, cookie[:80]
    assert await body_of(site, mine) == "Mine"


async def test_the_cookie_is_for_the_server_alone_and_lasts_15_minutes(
    site: TenantWorld,
) -> None:
    answer = await Browser(site, "fog").send("", body="Hello", **GUEST)
    attributes = answer.headers["set-cookie"].split("; ")[1:]
    assert attributes == ["Max-Age=900", "Path=/posts", "HttpOnly", "SameSite=Lax"]
    assert "set-cookie" not in (await site.guest.get("/posts/fog")).headers


async def test_several_comments_of_one_browser_can_be_changed(site: TenantWorld) -> None:
    browser = Browser(site, "fog")
    mine = [await browser.comment(f"Number {n}") for n in range(4)]
    for each in mine:
        assert f"/comments/{each}/delete" in await browser.text()


async def test_an_edited_text_is_treated_like_a_new_one(site: TenantWorld) -> None:
    browser = Browser(site, "fog")
    mine = await browser.comment("Harmless")
    answer = await browser.send(f"/{mine}", body="http://a.example http://b.example")
    assert (answer.status_code, problems(answer)) == (
        422,
        ["Say something about the link: a comment needs words."],
    )
    assert "http://a.example http://b.example</textarea>" in answer.text
    answer = await browser.send(f"/{mine}", body="")
    assert problems(answer) == ["Write something first."]
    answer = await browser.send(f"/{mine}", body="x" * 5001)
    assert problems(answer) == ["Must be no more than 5000 character(s)."]
    links = "Buy http://a.example http://b.example http://c.example"
    assert (await browser.send(f"/{mine}", body=links)).status_code == 303
    assert shown(await Browser(site, "fog").page()) == []
    assert "Waiting for approval" in await browser.text()


async def test_an_edit_of_an_approved_text_waits_where_comments_wait(site: TenantWorld) -> None:
    await site.settings(comments_moderation="all")
    browser = Browser(site, "fog")
    mine = await browser.comment("Approved")
    await site.update("comments", mine, {"status": "approved"})
    assert (await browser.send(f"/{mine}", body="Something else")).status_code == 303
    assert shown(await Browser(site, "fog").page()) == []
    assert (await site.event_names()).count("comment.received") == 1


async def test_an_answered_comment_leaves_its_place_and_no_text(site: TenantWorld) -> None:
    author = Browser(site, "fog")
    first = await author.comment("Secret regret")
    await Browser(site, "fog").comment("An answer", parent_id=first)
    assert (await author.send(f"/{first}/delete")).status_code == 303
    page = await Browser(site, "fog").page()
    assert nested(page) == [(2, "An answer")]
    assert number(page) == 1
    assert "The author has deleted this comment." in page.text_content()
    assert "Secret regret" not in await author.text()
    assert "Gale Guest" not in page.find_class("comment-gone")[0].text_content()
    comments = site.world.collection("comments")
    [stored] = await site.world.parts.records.find(comments, {"id": first}, tenant_id=site.id)
    assert (stored["author_name"], stored["author_email"], stored["body"]) == (
        "[deleted]",
        "",
        "[deleted]",
    )
    assert (await site.event_names()).count("comment.deleted") == 1
    for path in (f"/{first}", f"/{first}/delete"):
        assert (await author.send(path, body="Back")).status_code == 403
    refused = await author.send("", body="Hello?", parent_id=first, **GUEST)
    assert refused.status_code == 422


async def test_a_deleted_comment_without_answers_left_is_not_shown(site: TenantWorld) -> None:
    author, other = Browser(site, "fog"), Browser(site, "fog")
    first = await author.comment("First")
    answer = await other.comment("Answer", parent_id=first)
    await author.send(f"/{first}/delete")
    await other.send(f"/{answer}/delete")
    page = await Browser(site, "fog").page()
    assert (shown(page), number(page), page.find_class("comment-gone")) == ([], 0, [])


async def test_staff_deletes_a_comment_and_its_answers_move_up(site: TenantWorld) -> None:
    first = await Browser(site, "fog").comment("First")
    second = await Browser(site, "fog").comment("Second", parent_id=first)
    third = await Browser(site, "fog").comment("Third", parent_id=second)
    await Browser(site, "fog").comment("Fourth", parent_id=third)
    records, comments = site.world.parts.records, site.world.collection("comments")
    await records.delete(system(site.id), comments, second)
    assert nested(await Browser(site, "fog").page()) == [
        (1, "First"),
        (2, "Third"),
        (3, "Fourth"),
    ]
    await records.delete(system(site.id), comments, first)
    page = await Browser(site, "fog").page()
    assert nested(page) == [(1, "Third"), (2, "Fourth")]
    assert number(page) == 2


async def test_changes_are_rate_limited_too(site: TenantWorld) -> None:
    browser = Browser(site, "fog")
    mine = await browser.comment("Mine")
    for n in range(4):
        assert (await browser.send(f"/{mine}", body=f"Version {n}")).status_code == 303
    answer = await browser.send(f"/{mine}", body="Too fast")
    assert answer.status_code == 429
    assert "Too fast</textarea>" in answer.text
    assert (await browser.send(f"/{mine}/delete")).status_code == 429
