"""Code of a site's owner in Chromium: its scripts run, no other one does, and pages for members
have none. Skipped where the machine has no Chromium."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.async_api import Page
from tests.browser import REFUSED, Browser, needs_chromium
from tests.databases import fresh_url
from tests.faces.admin.served import served
from tests.world import RunningClock, open_world

pytestmark = needs_chromium

HEAD = """<script>
window.counted = "<b>one</b>";
</script><style>body { outline: 1px solid red }</style>"""
FOOT = (
    '<script src="https://stats.example.com/count.js"></script>'
    '<p id="foot">Mine</p><img src="x" alt="" onerror="window.evil = 1">'
)
INJECTED = """() => {
  const script = document.createElement("script");
  script.textContent = "window.evil = 2";
  document.body.append(script);
  return [window.counted, window.loaded, window.evil ?? null];
}"""


async def test_scripts_of_the_owner_run_and_no_other_one(tmp_path: Path, browser: Browser) -> None:
    world = await open_world(
        fresh_url("sqlite", tmp_path), tmp_path, RunningClock(), MASTHEAD_DEFAULT_TENANT="demo"
    )
    async with served(world) as origin:
        tenant = await world.new_tenant("Tideline", slug="demo")
        await tenant.settings(code_allowed=True)
        await tenant.settings(head_html=HEAD, foot_html=FOOT)
        context = await browser.new_context()

        async def answer(route: Any) -> None:
            body = "window.loaded = true"
            await route.fulfill(status=200, content_type="text/javascript", body=body)

        await context.route("https://stats.example.com/**", answer)
        page: Page = await context.new_page()
        await page.goto(origin)
        assert await page.evaluate(INJECTED) == ["<b>one</b>", True, None]
        assert len(REFUSED) == 2, REFUSED
        assert all("inline" in each for each in REFUSED)
        REFUSED.clear()
        await page.goto(f"{origin}/member/sign-in")
        assert await page.evaluate("[window.counted, window.loaded]") == [None, None]
        assert await page.locator("#foot").count() == 0
        await context.close()
