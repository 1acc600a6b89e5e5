"""The templates in Chromium: accessible, whole at every width, and nothing moves while it loads.

Skipped where the machine has no Chromium.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page
from tests.browser import Browser, needs_chromium
from tests.clients.node import HERE as CLIENTS
from tests.clients.node import NODE
from tests.faces.reader.sample_site import SampleSite, running
from tests.faces.reader.samples import PAGES
from tests.faces.reader.themed import OTHER_THEMES
from tests.looks import EVERY_LOOK, WIDE, accessibility, reached_by_tab, sideways
from tests.tiers import representatives

pytestmark = needs_chromium

SEEN_EVERYWHERE = (
    "home",
    "post",
    "paywall",
    "archive",
    "search",
    "not-found",
    "author",
    "tiers-member",
)
"""One of each kind of page, for what takes a second a page."""

THEMED_PAGES = (
    *("home", "post", "paywall", "archive", "search", "not-found", "author", "tiers-member"),
    *("account", "sign-in"),
)

WIDTHS = (320, 375, 480, 640, 768, 1024, 1280, 1920)


@dataclass(frozen=True)
class Site:
    origin: str
    browser: Browser

    async def open(self, name: str, page: Page) -> None:
        await page.goto(f"{self.origin}/{name}", wait_until="load")


@pytest.fixture(scope="module")
async def site(browser: Browser) -> AsyncIterator[Site]:
    async with running(SampleSite()) as origin:
        yield Site(origin, browser)


async def opened(site: Site, width: int = 1280, scheme: Any = "light", **more: Any) -> Page:
    context = await site.browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme, **more
    )
    return await context.new_page()


@pytest.mark.parametrize(
    "name",
    ["post", *(pytest.param(each, marks=pytest.mark.sweep) for each in PAGES if each != "post")],
)
async def test_a_page_is_for_everyone_and_never_scrolls_sideways(site: Site, name: str) -> None:
    page = await opened(site)
    await site.open(name, page)
    problems = await sideways(page, WIDTHS)
    await page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    if name in SEEN_EVERYWHERE:
        problems |= await accessibility(page, EVERY_LOOK)
    else:
        problems |= await accessibility(page, [(WIDE, "light")])
    await page.context.close()
    assert problems == {}


_THEMED = [f"{theme}/{name}" for theme in OTHER_THEMES for name in THEMED_PAGES]


@pytest.mark.parametrize("name", representatives(_THEMED))
async def test_another_theme_is_for_everyone_too(site: Site, name: str) -> None:
    page = await opened(site)
    await site.open(name, page)
    problems = await sideways(page, WIDTHS)
    problems |= await accessibility(page, EVERY_LOOK)
    problems |= await reached_by_tab(page)
    await page.evaluate("document.documentElement.dir = 'rtl'")
    for width in (375, 1280):
        await page.set_viewport_size({"width": width, "height": 800})
        wider = "document.documentElement.scrollWidth > innerWidth"
        if await page.evaluate(wider):
            problems[f"from right to left, {width}"] = [name]
    await page.context.close()
    assert problems == {}


@pytest.mark.parametrize(
    "names",
    [["post"], pytest.param((*SEEN_EVERYWHERE, *_THEMED), marks=pytest.mark.sweep)],
    ids=["post", "all"],
)
async def test_nothing_moves_while_a_page_loads(site: Site, names: Sequence[str]) -> None:
    """Each page for the first time, on a slow line: fonts and pictures come after the text."""
    for name in names:
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


@pytest.mark.sweep
async def test_the_head_of_a_page_wraps_on_a_phone_and_cuts_no_link(site: Site) -> None:
    page = await opened(site)
    await site.open("post", page)
    # A table of few columns is as wide as the text.
    table, text = page.locator(".text table").first, page.locator(".text").first
    widths = {(await each.bounding_box() or {})["width"] for each in (table, text)}
    assert len(widths) == 1, widths
    top, nav = page.locator(".top .wrap"), page.locator(".top .navigation")
    await page.set_viewport_size({"width": 375, "height": 800})
    assert (await top.bounding_box() or {})["height"] < 88
    # Also of more links than fit.
    await nav.evaluate("(each) => each.append(...[...each.children].map((a) => a.cloneNode(true)))")
    for width in (320, 375):
        await page.set_viewport_size({"width": width, "height": 800})
        for link in await nav.locator("a").all():
            box = await link.bounding_box() or {}
            assert 0 <= box["x"] <= width - box["width"], (width, box)
            assert box["height"] < 40, "a link breaks inside"
        assert await nav.evaluate("(each) => each.scrollWidth <= each.clientWidth")
    # A square logo takes as much room as it needs.
    await page.locator(".top .logo").evaluate(
        '(each) => each.innerHTML = \'<img src="/none" alt="" width="400" height="400">\''
    )
    assert (await page.locator(".logo img").bounding_box() or {})["width"] == 32
    await page.context.close()


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


async def test_a_page_runs_in_its_direction_and_has_no_margin(site: Site) -> None:
    page = await opened(site)
    await site.open("post", page)
    await page.evaluate("document.documentElement.dir = 'rtl'")
    body = await page.evaluate(
        "(style => [style.direction, style.margin])(getComputedStyle(document.body))"
    )
    await page.context.close()
    assert body == ["rtl", "0px"]


@pytest.mark.sweep
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


@pytest.mark.sweep
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
