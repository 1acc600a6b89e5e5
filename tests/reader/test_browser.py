"""The templates in Chromium: accessible, whole at every width, and nothing moves while it loads.

Skipped where the machine has no Chromium.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, async_playwright
from tests.clients.node import HERE as CLIENTS
from tests.clients.node import NODE
from tests.reader.sample_site import SampleSite, running
from tests.reader.samples import PAGES

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
AXE = CLIENTS / "node_modules" / "axe-core" / "axe.min.js"

pytestmark = [
    pytest.mark.skipif(
        CHROMIUM is None,
        reason="install chromium: these tests need a browser, and .ci/run installs it",
    ),
    # One browser for the file.
    pytest.mark.xdist_group("chromium"),
]

SEEN_EVERYWHERE = (
    "home",
    "post",
    "paywall",
    "archive",
    "search",
    "not-found",
    "author",
    "plans-member",
)
"""One of each kind of page, for what takes a second a page."""


@dataclass(frozen=True)
class Site:
    origin: str
    browser: Browser

    async def open(self, name: str, page: Page) -> None:
        await page.goto(f"{self.origin}/{name}", wait_until="load")


@pytest.fixture(scope="module")
async def site() -> AsyncIterator[Site]:
    async with running(SampleSite()) as origin, async_playwright() as playwright:
        # Containers run tests as root, for whom Chromium's own sandbox can't start.
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield Site(origin, browser)
        await browser.close()


async def opened(site: Site, width: int = 1280, scheme: Any = "light", **more: Any) -> Page:
    context = await site.browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme, **more
    )
    return await context.new_page()


@pytest.mark.parametrize(
    ("names", "width", "scheme"),
    [
        (tuple(PAGES), 1280, "light"),
        (SEEN_EVERYWHERE, 1280, "dark"),
        (SEEN_EVERYWHERE, 375, "light"),
        (SEEN_EVERYWHERE, 375, "dark"),
    ],
    ids=["desktop-light", "desktop-dark", "phone-light", "phone-dark"],
)
async def test_axe_finds_nothing(
    site: Site, names: tuple[str, ...], width: int, scheme: str
) -> None:
    # The policy forbids the script that axe is.
    page = await opened(site, width, scheme, bypass_csp=True)
    found: dict[str, Any] = {}
    for name in names:
        await site.open(name, page)
        await page.evaluate(
            "for (const each of document.querySelectorAll('details')) each.open = true"
        )
        await page.add_script_tag(path=AXE)
        result = await page.evaluate("axe.run({resultTypes: ['violations']})")
        if result["violations"]:
            found[name] = [
                (each["id"], [node["html"] for node in each["nodes"]])
                for each in result["violations"]
            ]
    await page.context.close()
    assert found == {}


async def test_nothing_scrolls_sideways_at_any_width(site: Site) -> None:
    page = await opened(site)
    wide: list[tuple[str, int, int]] = []
    for name in PAGES:
        await site.open(name, page)
        for width in (320, 360, 375, 480, 768, 1024, 1280, 1920):
            await page.set_viewport_size({"width": width, "height": 800})
            reaches = await page.evaluate("document.documentElement.scrollWidth")
            if reaches > width:
                wide.append((name, width, reaches))
    await page.context.close()
    assert wide == []


async def test_nothing_moves_while_a_page_loads(site: Site) -> None:
    """Each page for the first time, on a slow line: fonts and pictures come after the text."""
    for name in SEEN_EVERYWHERE:
        page = await opened(site, 375)
        await page.add_init_script(
            "window.moved = 0; new PerformanceObserver(list => {"
            " for (const each of list.getEntries()) window.moved += each.value })"
            ".observe({type: 'layout-shift', buffered: true})"
        )
        session = await page.context.new_cdp_session(page)
        await session.send("Network.enable")
        await session.send(
            "Network.emulateNetworkConditions",
            {
                "offline": False,
                "latency": 150,
                "downloadThroughput": 200_000,
                "uploadThroughput": 90_000,
            },
        )
        await site.open(name, page)
        await page.evaluate("document.fonts.ready")
        await page.mouse.wheel(0, 3000)
        await page.wait_for_load_state("networkidle")
        moved = await page.evaluate("window.moved")
        await page.context.close()
        assert (name, moved) == (name, 0)


async def test_a_first_page_weighs_at_most_100_kb_without_its_pictures(site: Site) -> None:
    for name in ("home", "post"):
        page = await opened(site)
        session = await page.context.new_cdp_session(page)
        await session.send("Network.enable")
        addresses: dict[str, str] = {}
        sizes: dict[str, float] = {}
        session.on(
            "Network.responseReceived",
            lambda event, addresses=addresses: addresses.update(
                {event["requestId"]: event["response"]["url"]}
            ),
        )
        session.on(
            "Network.loadingFinished",
            lambda event, sizes=sizes: sizes.update(
                {event["requestId"]: event["encodedDataLength"]}
            ),
        )
        await page.goto(f"{site.origin}/{name}", wait_until="networkidle")
        await page.context.close()
        counted = {
            addresses[each]: size
            for each, size in sizes.items()
            if each in addresses and "/pictures/" not in addresses[each]
        }
        assert all(each.startswith(site.origin) for each in counted)
        assert any(each.endswith(".woff2") for each in counted)
        assert sum(counted.values()) <= 100_000, counted


async def test_the_policy_blocks_nothing_of_ours(site: Site) -> None:
    page = await opened(site)
    refused: list[str] = []
    page.on("console", lambda line: refused.append(line.text))
    for name in PAGES:
        await site.open(name, page)
    await page.context.close()
    assert [each for each in refused if "Content Security Policy" in each] == []


async def test_tab_goes_to_the_skip_link_first_and_shows_where_it_is(site: Site) -> None:
    page = await opened(site)
    await site.open("post", page)
    await page.keyboard.press("Tab")
    assert await page.evaluate("document.activeElement.className") == "skip"
    for _ in range(40):
        shown = await page.evaluate(
            "(() => { const style = getComputedStyle(document.activeElement);"
            " return [style.outlineStyle, parseFloat(style.outlineWidth),"
            " document.activeElement.closest('[aria-hidden=true]') === null] })()"
        )
        assert shown == ["solid", 2, True], await page.evaluate("document.activeElement.outerHTML")
        await page.keyboard.press("Tab")
    await page.context.close()


async def test_without_script_a_reader_opens_the_form_to_answer(site: Site) -> None:
    page = await opened(site, java_script_enabled=False)
    await site.open("post", page)
    answer = page.locator("#comment-c2 > .comment")
    assert not await answer.locator("textarea").is_visible()
    await answer.locator("summary").click()
    assert await answer.locator("textarea").is_visible()
    box = await answer.locator(".trap").bounding_box()
    assert box is not None
    assert (box["width"], box["height"]) == (1, 1)
    await page.context.close()


async def test_print_leaves_out_what_paper_can_not_do(site: Site) -> None:
    page = await opened(site)
    await site.open("post", page)
    await page.emulate_media(media="print", color_scheme="dark")
    for gone in (".navigation", ".comments", ".after", ".foot"):
        assert not await page.locator(gone).is_visible()
    assert await page.locator("h1").is_visible()
    ground = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(255, 255, 255)"
    await page.context.close()


async def test_html_validate_finds_nothing(tmp_path: Path) -> None:
    themes = SampleSite().themes
    for name, (template, frame, view) in PAGES.items():
        (tmp_path / f"{name}.html").write_text(themes.render("plain", template, frame, view))
    rules = {"root": True, "extends": ["html-validate:standard"]}
    (tmp_path / ".htmlvalidate.json").write_text(json.dumps(rules))
    process = await asyncio.create_subprocess_exec(
        str(NODE),
        str(CLIENTS / "node_modules" / "html-validate" / "bin" / "html-validate.mjs"),
        "--formatter=text",
        str(tmp_path),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await process.communicate()
    assert (process.returncode, (output + errors).decode()) == (0, "")
