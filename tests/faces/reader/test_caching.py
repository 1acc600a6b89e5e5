"""Pages are cached for their audience, never stale, and never another audience's."""

from __future__ import annotations

from typing import Any

import pytest
from tests.world import TenantWorld, World

from masthead.faces.reader.themes import Themes


async def test_a_change_is_seen_by_the_next_request(tenant: TenantWorld) -> None:
    post = await tenant.published(title="Before")
    guest = tenant.guest
    for path in ("/", "/posts/before", "/feed.xml", "/archive"):
        assert "Before" in (await guest.get(path)).text
    await tenant.update("posts", post["id"], {"title": "After"})
    for path in ("/", "/posts/before", "/feed.xml", "/archive"):
        text = (await guest.get(path)).text
        assert "After" in text
        assert "Before" not in text
    await tenant.settings(site_name="Renamed")
    assert "Renamed" in (await guest.get("/")).text


async def test_an_unchanged_page_is_304(tenant: TenantWorld) -> None:
    await tenant.published(title="Same")
    guest = tenant.guest
    tag = (await guest.get("/posts/same")).headers["etag"]
    again = await guest.get("/posts/same", headers={"if-none-match": tag})
    assert (again.status_code, again.content) == (304, b"")
    member = await tenant.member()
    theirs = await member.api.get("/posts/same", headers={"if-none-match": tag})
    assert theirs.status_code == 200
    await tenant.published(title="Another")
    changed = await guest.get("/posts/same", headers={"if-none-match": tag})
    assert changed.status_code == 200


async def test_shared_caches_may_keep_a_guests_page_only(tenant: TenantWorld) -> None:
    await tenant.published(title="Same")
    member, owner = await tenant.member(), await tenant.owner()
    of_guest = (await tenant.guest.get("/posts/same")).headers
    assert of_guest["cache-control"].startswith("public")
    assert "stale-while-revalidate" in of_guest["cache-control"]
    assert "Cookie" in of_guest["vary"]
    for client in (member.api, owner.api):
        assert (await client.get("/posts/same")).headers["cache-control"] == "private, no-cache"
    missing = await tenant.guest.get("/posts/none")
    assert missing.headers["cache-control"] == "private, no-cache"


async def test_what_a_page_does_not_read_from_its_address_leads_to_the_same_page(
    tenant: TenantWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    await tenant.published(title="Same")
    draw, drawn = Themes.render, []

    def counted(self: Themes, theme: str, template: str, *others: Any) -> str:
        drawn.append(template)
        return draw(self, theme, template, *others)

    monkeypatch.setattr(Themes, "render", counted)
    for path in ("/", "/posts/same", "/archive", "/feed.xml", "/sitemap.xml"):
        plain = await tenant.guest.get(path)
        before = drawn.copy()
        for query in ("utm_source=x", "a=1&b=2", "a", "q=1", "%ff=%fe", "x=" + "y" * 1_000):
            answer = await tenant.guest.get(f"{path}?{query}")
            assert (answer.text, answer.headers["etag"]) == (plain.text, plain.headers["etag"])
        assert drawn == before


async def test_a_scheduled_post_shows_at_its_time(tenant: TenantWorld, app: World) -> None:
    moment = app.clock.moment
    await tenant.published(title="Today")
    due = (moment.replace(microsecond=0)).isoformat().replace("+00:00", ".000Z")
    app.clock.moment = moment.replace(year=moment.year - 1)
    try:
        await tenant.published(title="Scheduled", published_at=due)
        guest = tenant.guest
        assert "Scheduled" not in (await guest.get("/")).text
        app.clock.moment = moment
        assert "Scheduled" in (await guest.get("/")).text
    finally:
        app.clock.moment = moment


async def test_a_guest_gets_no_cookie_and_nothing_from_elsewhere(tenant: TenantWorld) -> None:
    await tenant.published(title="Same")
    for path in ("/", "/posts/same", "/archive", "/search?q=x", "/none"):
        answer = await tenant.guest.get(path)
        assert "set-cookie" not in answer.headers
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "script-src http" in policy
