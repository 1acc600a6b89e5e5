"""Cards in Chromium: nothing is asked of another site before a press, an author's own HTML reaches
nothing of the page, and all of them are accessible at every width, without script too.

Skipped where the machine has no Chromium.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.browser import REFUSED, Browser, needs_chromium
from tests.content.cards.every_card import MASTODON, card, document, words
from tests.faces.reader.live_site import LiveSite, live_site
from tests.features.media.test_copies import photo, uploaded
from tests.looks import EVERY_LOOK, accessibility, sideways
from tests.waiting import until

pytestmark = needs_chromium

ATTACK = """
<p id="done">waiting</p>
<script>
const tries = {
  parent: () => parent.document.title,
  top: () => {
    if (top === self) throw new DOMException("", "SecurityError");
    top.location = "/evil";
  },
  cookie: () => document.cookie,
  storage: () => localStorage.length,
};
const found = Object.entries(tries).map(([name, attempt]) => {
  try { return name + "=" + attempt(); } catch (error) { return name + ":" + error.name; }
});
fetch("/member/account", { credentials: "include" }).then(
  (answer) => found.push("fetch=" + answer.status),
  (error) => found.push("fetch:" + error.name),
).then(() => { document.getElementById("done").textContent = found.join(" "); });
</script>
"""


@dataclass(frozen=True)
class CardSite:
    live: LiveSite
    browser: Browser

    async def open(self, path: str, **more: Any) -> Any:
        context = await self.browser.new_context(**more)
        # Nothing of the outside answers, and every attempt is counted.
        outside: list[str] = []

        async def refuse(route: Any) -> None:
            outside.append(route.request.url)
            await route.fulfill(status=200, content_type="text/html", body="<p>player</p>")

        await context.route(lambda url: not url.startswith(self.live.origin), refuse)
        page = await context.new_page()
        page.outside = outside
        await page.goto(self.live.origin + path, wait_until="load")
        return page


@pytest.fixture(scope="module")
async def site(browser: Browser, tmp_path_factory: Any) -> AsyncIterator[CardSite]:
    async with live_site("sqlite", tmp_path_factory.mktemp("cards")) as live:
        owner = await live.tenant.owner()
        item = await uploaded(owner, photo((900, 600)))
        picture = f"/media/{item['id']}/{item['file']}"
        await live.tenant.published(title="Every card", content_json=document(picture))
        players = [card("embed", url=MASTODON, title="A post", image=picture)]
        await live.tenant.published(
            title="Attack",
            content_json={"type": "doc", "content": [card("html", html=ATTACK), *players]},
        )
        figure = card("figure", src=picture, alt="A", layout="wide", crop="16:9")
        await live.tenant.published(
            title="Wide", content_json={"type": "doc", "content": [words("Text."), figure]}
        )
        yield CardSite(live, browser)


async def test_nothing_is_asked_of_another_site_before_a_press(site: CardSite) -> None:
    """The press needs no script."""
    page = await site.open("/posts/attack", java_script_enabled=False)
    await page.mouse.wheel(0, 5_000)
    player = page.frame_locator("iframe.mh-post")
    # Both frames are loaded, as far as they are without a press.
    await player.locator("a").wait_for()
    await page.frame_locator("iframe.mh-own").locator("#done").wait_for()
    assert page.outside == []
    await player.locator("a").click()
    await until(lambda: bool(page.outside))
    assert page.outside == [f"{MASTODON}/embed"]
    await page.context.close()


async def test_an_authors_own_html_reaches_nothing_of_the_page(site: CardSite) -> None:
    page = await site.open("/posts/attack")
    done = page.frame_locator("iframe.mh-own").locator("#done")
    await done.filter(has_not_text="waiting").wait_for()
    said = await done.inner_text()
    for name in ("parent", "top", "cookie", "storage"):
        assert f"{name}:SecurityError" in said
    assert "fetch:TypeError" in said
    assert page.url == f"{site.live.origin}/posts/attack"
    # What the frame tried to fetch.
    assert REFUSED
    REFUSED.clear()
    # Opened by itself it is as alone.
    address = await page.locator("iframe.mh-own").get_attribute("src")
    await page.goto(site.live.origin + address)
    done = page.locator("#done")
    await done.filter(has_not_text="waiting").wait_for()
    said = await done.inner_text()
    for name in ("cookie", "storage"):
        assert f"{name}:SecurityError" in said
    assert "fetch:TypeError" in said
    REFUSED.clear()
    await page.context.close()


@pytest.mark.sweep
@pytest.mark.parametrize("path", ["/posts/every-card", "/posts/wide"])
async def test_cards_are_accessible_and_whole_at_every_width(site: CardSite, path: str) -> None:
    page = await site.open(path)
    assert await sideways(page) == {}
    assert await accessibility(page, EVERY_LOOK) == {}
    await page.context.close()
