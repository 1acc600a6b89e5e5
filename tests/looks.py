"""Finds with a browser what is wrong with a page that is open in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal
from zlib import crc32

from playwright.async_api import Page
from tests.browser import AXE

WIDE, PHONE = 1280, 375
NARROWEST = 320
ZOOMED = WIDE // 2
"""A zoom of 200 %."""

# Of all rules only these depend on colours, which are all that light and dark change.
COLOURS = ["color-contrast", "link-in-text-block"]

# What Tab must reach, in this order: see `reached_by_tab`. The focus in a frame is not seen here.
_STOPS = """
const found = 'a[href], button, input, select, textarea, summary, [contenteditable], ' +
  '[tabindex], audio[controls], video[controls]';
const isStop = each => {
  if (each.tabIndex < 0 || each.matches(':disabled') || each.closest('[inert]')) return false;
  if (!each.checkVisibility({visibilityProperty: true})) return false;
  if (each.tagName === 'SUMMARY' && each.parentElement.tagName !== 'DETAILS') return false;
  if (each.isContentEditable && each.parentElement.isContentEditable
    && !each.matches('button, input')) return false;
  if (each.type !== 'radio') return true;
  const group = [...each.getRootNode().querySelectorAll('input[type=radio]')]
    .filter(other => other.name === each.name && other.form === each.form && !other.disabled);
  return (group.find(other => other.checked) ?? group[0]) === each;
};
"""
_WATCH = (
    "() => {"
    + _STOPS
    + """
const said = each => each.outerHTML.slice(0, 160);
const hasRing = each => {
  const style = getComputedStyle(each);
  return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
};
// The ring may be that of a box around the field. Where one writes on the page itself and in the
// palette, the caret shows it.
const isShown = each => hasRing(each) || hasRing(each.parentElement)
  || each.isContentEditable || each.matches('.page-title, .palette-in input');
const dialog = document.querySelector('dialog:modal');
const seen = {
  dialog, reached: [], hidden: [],
  stops: [...(dialog ?? document).querySelectorAll(found)].filter(isStop),
};
window.seenByTab = seen;
if (!dialog) {
  // Tab begins at the top, also where a script has put the focus somewhere else.
  document.body.tabIndex = -1;
  document.body.focus();
  document.body.removeAttribute('tabindex');
  window.scrollTo(0, 0);
}
document.addEventListener('focusin', ({target}) => {
  if (!isShown(target)) seen.hidden.push(said(target));
  // A box that scrolls is a stop too, and no control.
  if (target.matches(found) && seen.reached.at(-1) !== target) seen.reached.push(target);
});
return seen.stops.length;
}"""
)
_REACHED = """() => {
  const {dialog, stops, reached, hidden} = window.seenByTab;
  const said = each => each ? each.outerHTML.slice(0, 160) : 'nothing';
  // A dialog puts the focus where one begins, and Tab goes round.
  const isReached = dialog
    ? each => each === document.activeElement || reached.includes(each)
    : (each, at) => each === reached[at];
  const wrong = stops.findIndex((each, at) => !isReached(each, at));
  return {
    done: reached.length > stops.length || wrong < 0 && document.activeElement !== stops.at(-1),
    order: wrong < 0 ? [] : [`${wrong}: ${said(reached[wrong])} instead of ${said(stops[wrong])}`],
    hidden: [...new Set(hidden)],
  };
}"""

_BEYOND = """[...document.body.querySelectorAll('*')]
  .filter(each => each.getBoundingClientRect().right > innerWidth + 0.5
    || each.getBoundingClientRect().left < -0.5)
  .map(each => each.outerHTML.slice(0, 160)).slice(-3)"""


async def resize(page: Page, width: int, height: int = 800) -> None:
    await page.set_viewport_size({"width": width, "height": height})


async def axe(page: Page, rules: list[str] | None, known: Sequence[str]) -> list[Any]:
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = {"type": "rule", "values": rules}
    result = await page.evaluate(
        "([exclude, options]) => axe.run({exclude}, options)", [list(known), options]
    )
    return [(each["id"], [node["html"] for node in each["nodes"]]) for each in result["violations"]]


Look = tuple[int, Literal["light", "dark"]]
"""The width of a window, and the colours in it."""

EVERY_LOOK: list[Look] = [(WIDE, "light"), (WIDE, "dark"), (PHONE, "light"), (PHONE, "dark")]


def looks_of(name: str) -> list[Look]:
    """Both widths and both themes of a page, in one of their two pairings: chosen by its name, so
    that half of the pages have each."""
    first, second = ("light", "dark") if crc32(name.encode()) % 2 else ("dark", "light")
    return [look for look in EVERY_LOOK if look in ((WIDE, first), (PHONE, second))]


async def accessibility(
    page: Page, looks: Sequence[Look], known: Sequence[str] = ()
) -> dict[str, list[Any]]:
    """Findings by width and theme, with everything open that opens in place.

    `known` are selectors of parts that were looked at in another page: they are left out.
    """
    await page.evaluate(AXE.read_text() + "; 0")
    await page.evaluate(
        "document.querySelectorAll('main details').forEach(each => each.open = true)"
    )
    found = {}
    for width, theme in looks:
        await resize(page, width)
        await page.emulate_media(color_scheme=theme)
        findings = await axe(page, None if theme == "light" else COLOURS, known)
        if findings:
            found[f"axe, {width}, {theme}"] = findings
    await page.emulate_media(color_scheme="light")
    await resize(page, WIDE)
    return found


async def sideways(
    page: Page, widths: Sequence[int] = (NARROWEST, PHONE, ZOOMED, WIDE)
) -> dict[str, list[Any]]:
    found = {}
    for width in widths:
        await resize(page, width)
        reaches = await page.evaluate("document.documentElement.scrollWidth")
        if reaches > width:
            found[f"sideways, {width}"] = [reaches, *await page.evaluate(_BEYOND)]
    return found


async def reached_by_tab(page: Page) -> dict[str, list[Any]]:
    """Tab stops at every control in the order of the document, shows where it is, and goes on."""
    # A field that takes the focus by itself may take it late, but only once.
    return await _tabbed(page) and await _tabbed(page)


async def _tabbed(page: Page) -> dict[str, list[Any]]:
    stops = await page.evaluate(_WATCH)
    # A field of a date has several stops of its own.
    for _ in range(4):
        for _ in range(stops + 1):
            await page.keyboard.press("Tab")
        told = await page.evaluate(_REACHED)
        if told["done"]:
            break
    found = {"order of Tab": told["order"], "focus not visible": told["hidden"]}
    return {name: problems for name, problems in found.items() if problems}


async def skip_link(page: Page) -> dict[str, list[Any]]:
    """The first stop leads past the navigation."""
    if not await page.locator(".skip").count() or await page.locator("dialog:modal").count():
        return {}
    await page.locator(".skip").focus()
    await page.keyboard.press("Enter")
    # A part of the page only says where Tab goes on; a text takes the focus itself.
    if not await page.evaluate("document.activeElement.matches(':target')"):
        await page.keyboard.press("Tab")
    leads_to = await page.evaluate(
        "document.activeElement.closest(':target')"
        " || !document.querySelector('main :is(a, button, input)')"
        " ? '' : document.activeElement.outerHTML.slice(0, 160)"
    )
    return {"skip link": [leads_to]} if leads_to else {}
