"""A letter in the widths of a phone and of a mail program's window, light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from tests.browser import AXE, Browser, needs_chromium
from tests.features.mailings.sound import SITE
from tests.looks import axe, resize
from tests.world import TenantWorld

from masthead.base.caller import Audience, Reader
from masthead.features.mailings.letter import Recipient, draw_letter
from masthead.features.site.address import Site

pytestmark = needs_chromium
WIDTHS = (320, 375, 700)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
# About pages with landmarks, which an email is not.
RULES = ["color-contrast", "link-in-text-block", "image-alt", "link-name", "list", "html-has-lang"]
TEXT = (Path(__file__).parents[2] / "faces" / "reader" / "sample_text.html").read_text()


@pytest.mark.parametrize(
    "audience", [Audience.FREE, pytest.param(Audience.PAID, marks=pytest.mark.sweep)]
)
async def test_a_letter_is_legible_at_every_width_in_light_and_dark(
    tenant: TenantWorld, browser: Browser, audience: Audience
) -> None:
    html = f'<img src="/a.png" alt="A" width="2400" height="1200">{TEXT}<!--more--><p>Rest</p>'
    post = await tenant.published(visibility="paid", content_html=html, excerpt="Short")
    letter = await draw_letter(
        tenant.world.parts.records,
        tenant_id=tenant.id,
        site=Site("The Coast", SITE),
        newsletter={"slug": "main", "name": "Weekly", "accent_color": "#ffee00"},
        post=post,
        reader=Reader(audience),
    )
    own = letter.for_recipient(Recipient("ada@example.com", "Ada", f"{SITE}/u?token=t"))
    context = await browser.new_context()
    # Nothing of the letter is fetched from anywhere.
    await context.route("**/*", lambda route: route.abort())
    page = await context.new_page()
    await page.set_content(own.html)
    await page.evaluate(AXE.read_text() + "; 0")
    backgrounds = set()
    for width in WIDTHS:
        for scheme in SCHEMES:
            await resize(page, width)
            await page.emulate_media(color_scheme=scheme)
            assert await page.evaluate("document.documentElement.scrollWidth") <= width
            assert await axe(page, RULES, []) == []
            backgrounds.add(await page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(backgrounds) == len(SCHEMES)
