"""The history of a text: who saved them, what differs, and how one comes back."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from tests.faces.admin.visitor import Visitor, hidden_in, staff
from tests.world import TenantWorld, World

from masthead.content.texts.difference import MAX_CHARACTERS
from masthead.features.posts.collection import posts

STATES = re.compile(r'href="(/admin/(?:posts|pages)/[^/"]+/revisions/[^"/?]+)"')


async def states(browser: Visitor, path: str) -> list[str]:
    answer = await browser.get(path)
    assert answer.status_code == 200
    return STATES.findall(answer.text)


async def stored(tenant: TenantWorld, post: dict[str, Any]) -> dict[str, Any]:
    records = tenant.world.parts.records
    [found] = await records.find(posts, {"id": post["id"]}, tenant_id=tenant.id)
    return found


async def rewritten(app: World, tenant: TenantWorld, **values: Any) -> dict[str, Any]:
    """A post with one revision."""
    first = {
        "title": "Fog",
        "content_html": "<p>Two short blasts at dawn.</p>",
        "tags": ["coast"],
        **values,
    }
    post = await tenant.post(**first)
    app.clock.advance(hours=1)
    changes = {"content_html": "<p>Two long blasts at dawn.</p>", "tags": ["coast", "fog"]}
    await tenant.update("posts", post["id"], {**changes, "title": "Fog signals"})
    app.clock.advance(minutes=1)
    return post


async def test_a_state_is_listed_with_its_time_and_its_author(
    app: World, tenant: TenantWorld
) -> None:
    browser, account = await staff(tenant, "owner", name="Nell Ashby")
    post = (
        await account.api.post(
            "/api/collections/posts/records", json={"title": "First", "content_html": "<p>1</p>"}
        )
    ).json()
    path = f"/admin/posts/{post['id']}/revisions"
    assert await states(browser, path) == []
    assert "No revisions yet" in (await browser.get(path)).text
    app.clock.advance(hours=1)
    await tenant.update("posts", post["id"], {"title": "Second"})
    assert len(await states(browser, path)) == 1
    page = (await browser.get(path)).text
    assert "Nell Ashby" in page
    assert ">First<" in page
    assert f'datetime="{post["updated"]}"' in page


async def test_words_and_settings_that_differ_are_marked(app: World, tenant: TenantWorld) -> None:
    browser, _ = await staff(tenant, "owner")
    post = await rewritten(app, tenant)
    [state] = await states(browser, f"/admin/posts/{post['id']}/revisions")
    page = (await browser.get(state)).text
    assert "Two<del> short</del><ins> long</ins> blasts at dawn." in page
    assert "Fog<ins> signals</ins>" in page
    assert "<dt>Tags</dt><dd><del>coast</del>" in page
    assert "<ins>coast, fog</ins>" in page
    assert "<dt>Excerpt</dt>" not in page
    # The first state has none before it.
    assert "With the revision before it" not in page
    app.clock.advance(hours=1)
    await tenant.update("posts", post["id"], {"visibility": "paid"})
    second, _ = await states(browser, f"/admin/posts/{post['id']}/revisions")
    page = (await browser.get(second)).text
    assert "The text is the same." in page
    assert "<del>Everyone</del>" in page
    assert "<ins>Paid members</ins>" in page
    page = (await browser.get(f"{second}?with=before")).text
    assert "Two<del> short</del><ins> long</ins> blasts at dawn." in page


async def test_any_two_states_are_compared(app: World, tenant: TenantWorld) -> None:
    browser, _ = await staff(tenant, "owner")
    post = await rewritten(app, tenant)
    for excerpt, blasts in (("On fog", "Three"), ("Of fog", "Four")):
        app.clock.advance(hours=1)
        html = f"<p>{blasts} long blasts at dawn.</p>"
        await tenant.update("posts", post["id"], {"excerpt": excerpt, "content_html": html})
    path = f"/admin/posts/{post['id']}/revisions"
    third, second, first = [each.rpartition("/")[2] for each in await states(browser, path)]
    page = (await browser.get(f"{path}?from={first}")).text
    assert "Choose another one below." in page
    assert f"{path}/{first}?with={third}" in page
    page = (await browser.get(f"{path}/{first}?with={third}")).text
    marked = "<del>Two short</del><ins>Three long</ins> blasts at dawn."
    assert marked in page
    # The older one is the old one, whichever was chosen first.
    assert marked in (await browser.get(f"{path}/{third}?with={first}")).text
    other = await rewritten(app, tenant)
    [theirs] = await states(browser, f"/admin/posts/{other['id']}/revisions")
    theirs = theirs.rpartition("/")[2]
    for address in (f"{path}?from={theirs}", f"{path}/{second}?with={theirs}", f"{path}?from=x"):
        assert (await browser.get(address)).status_code == 404, address


async def test_a_long_history_has_pages(app: World, tenant: TenantWorld) -> None:
    browser, _ = await staff(tenant, "owner")
    post = await tenant.post(title="v0")
    for number in range(1, 103):
        app.clock.advance(minutes=6)
        await tenant.update("posts", post["id"], {"title": f"v{number}"})
    path = f"/admin/posts/{post['id']}/revisions"
    page = (await browser.get(path)).text
    assert len(set(STATES.findall(page))) == 100
    older = unescape(re.findall(rf'href="({path}[?]after=[^"]*)"', page)[0])
    page = (await browser.get(older)).text
    assert len(set(STATES.findall(page))) == 2
    assert ">Now<" not in page


async def test_a_state_is_restored_and_that_can_be_taken_back(
    app: World, tenant: TenantWorld
) -> None:
    browser, _ = await staff(tenant, "owner")
    post = await rewritten(app, tenant)
    path = f"/admin/posts/{post['id']}/revisions"
    [state] = await states(browser, path)
    answer = await browser.post(state, hidden_in((await browser.get(state)).text))
    page = await browser.follow(answer)
    assert "is back." in page
    assert "Two short blasts at dawn." in page
    restored = await stored(tenant, post)
    assert (restored["title"], restored["tags"]) == ("Fog", ["coast"])
    newest, *_ = await states(browser, path)
    await browser.post(newest, hidden_in((await browser.get(newest)).text))
    assert (await stored(tenant, post))["title"] == "Fog signals"


async def test_a_published_post_stays_live_as_it_is(app: World, tenant: TenantWorld) -> None:
    browser, _ = await staff(tenant, "owner")
    post = await rewritten(app, tenant, status="published", visibility="public")
    [state] = await states(browser, f"/admin/posts/{post['id']}/revisions")
    page = (await browser.get(state)).text
    assert "goes live with Update" in page
    await browser.post(state, hidden_in(page))
    assert (await stored(tenant, post))["title"] == "Fog signals"
    page = (await browser.get(f"/admin/posts/{post['id']}")).text
    assert "Changed, not live." in page
    assert "Two short blasts at dawn." in page


async def test_what_was_saved_meanwhile_is_not_replaced_unseen(
    app: World, tenant: TenantWorld
) -> None:
    browser, _ = await staff(tenant, "owner")
    post = await rewritten(app, tenant)
    [state] = await states(browser, f"/admin/posts/{post['id']}/revisions")
    form = hidden_in((await browser.get(state)).text)
    await tenant.update("posts", post["id"], {"title": "Newer"})
    answer = await browser.post(state, form)
    assert answer.status_code == 409
    assert "Not restored." in answer.text
    assert (await stored(tenant, post))["title"] == "Newer"
    assert (await browser.post(state, hidden_in(answer.text))).status_code == 303


@pytest.mark.parametrize("role", ["author", "contributor"])
async def test_states_are_for_those_who_may_edit_the_text(
    app: World, tenant: TenantWorld, other_tenant: TenantWorld, role: str
) -> None:
    owner, _ = await staff(tenant, "owner")
    author, account = await staff(tenant, role)
    stranger, _ = await staff(other_tenant, "owner")
    post = await rewritten(app, tenant)
    own = await rewritten(app, tenant, authors=[account.id])
    [state] = await states(owner, f"/admin/posts/{post['id']}/revisions")
    [own_state] = await states(author, f"/admin/posts/{own['id']}/revisions")
    for browser in (author, stranger):
        for path in (state, f"/admin/posts/{post['id']}/revisions"):
            assert (await browser.get(path)).status_code == 404
        assert (await browser.post(state, {"version": "2.0"})).status_code == 404
    # A state of another text, at the address of an own one.
    forged = f"/admin/posts/{own['id']}/revisions/{state.rpartition('/')[2]}"
    for browser in (owner, author):
        assert (await browser.get(forged)).status_code == 404
        assert (await browser.post(forged, {"version": "2.0"})).status_code == 404
    assert (await stored(tenant, post))["title"] == "Fog signals"
    # Nor is it compared with an own one.
    compared = f"{own_state}?with={state.rpartition('/')[2]}"
    assert (await author.get(compared)).status_code == 404
    answer = await author.post(own_state, hidden_in((await author.get(own_state)).text))
    assert answer.status_code == 303


async def test_a_contributor_takes_nothing_that_is_live_back_to_a_state(
    app: World, tenant: TenantWorld
) -> None:
    contributor, account = await staff(tenant, "contributor")
    post = await rewritten(app, tenant, authors=[account.id])
    [state] = await states(contributor, f"/admin/posts/{post['id']}/revisions")
    await tenant.update("posts", post["id"], {"status": "published"})
    before = await stored(tenant, post)
    assert "Restore this revision" not in (await contributor.get(state)).text
    owner, _ = await staff(tenant, "owner")
    page = (await owner.get(state)).text
    assert "Restore this revision" in page
    answer = await contributor.post(state, {"version": hidden_in(page)["version"]})
    assert answer.status_code == 403, answer.text
    assert await stored(tenant, post) == before


async def test_a_text_that_is_too_long_is_said_to_be(app: World, tenant: TenantWorld) -> None:
    browser, _ = await staff(tenant, "owner")
    long = f"<p>{'x' * MAX_CHARACTERS}</p>"
    post = await rewritten(app, tenant, content_html=long)
    [state] = await states(browser, f"/admin/posts/{post['id']}/revisions")
    page = (await browser.get(state)).text
    assert "Too long to compare." in page
    assert (await browser.post(state, hidden_in(page))).status_code == 303


async def test_markup_of_a_text_stays_text(app: World, tenant: TenantWorld) -> None:
    browser, _ = await staff(tenant, "owner")
    shout = "<script>alert(1)</script>"
    post = await rewritten(app, tenant, title=shout, excerpt=shout, content_html="<p>&lt;i&gt;</p>")
    [state] = await states(browser, f"/admin/posts/{post['id']}/revisions")
    for path in (state, f"/admin/posts/{post['id']}/revisions"):
        assert "<script>alert" not in (await browser.get(path)).text
    assert "&lt;i&gt;" in (await browser.get(state)).text


async def test_a_page_of_the_site_has_earlier_states_too(app: World, tenant: TenantWorld) -> None:
    browser, _ = await staff(tenant, "editor")
    page = await tenant.create("pages", {"title": "About", "content_html": "<p>Who we are</p>"})
    app.clock.advance(hours=1)
    await tenant.update("pages", page["id"], {"content_html": "<p>Who we were</p>"})
    app.clock.advance(minutes=1)
    [state] = await states(browser, f"/admin/pages/{page['id']}/revisions")
    shown = (await browser.get(state)).text
    assert "Who we<del> are</del><ins> were</ins>" in shown
    assert (await browser.post(state, hidden_in(shown))).status_code == 303
    assert len(await states(browser, f"/admin/pages/{page['id']}/revisions")) == 2
