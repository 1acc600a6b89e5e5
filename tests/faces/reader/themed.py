"""The sample pages in our other themes, and with all that a site's settings can put around them."""

from __future__ import annotations

from msgspec.structs import replace
from tests.faces.reader.samples import PAGES

from masthead.faces.reader.site import LOOKS
from masthead.faces.reader.views import Announcement, Branch, Chrome, HomePage, Link

OTHER_THEMES = ("letter", "manual")
TREE = (
    Branch("Install", "/install", below=(Branch("Install with Docker", "/install-docker"),)),
    Branch("About", "/about", is_current=True),
    Branch("Donaudampfschifffahrtselektrizitätenhauptbetriebswerk", "/betriebswerk"),
)
_AROUND = {
    "announcement": Announcement("The winter issue is out: nine walks in the fog", "/winter"),
    "footer": ("Tideline is made in Sallow Bay.", "Registered charity 1234567."),
    "footer_links": (Link("Privacy", "/privacy"),),
    "social": (Link("Mastodon", "https://social.example.com/@tideline"),),
}


def themed(theme: str, name: str) -> tuple[str, Chrome, object]:
    """The sample of this name as the theme shows it."""
    template, chrome, page = PAGES[name]
    look = LOOKS[theme]
    site = replace(
        chrome.site,
        fonts=look.fonts,
        width=look.width,
        home_layout=look.home_layout,
        pages=TREE if theme == "manual" else (),
        **_AROUND,
    )
    if isinstance(page, HomePage) and page.lead:
        page = HomePage(None, (), (page.lead, *page.cards, *page.lines), page.pager)
    return template, replace(chrome, site=site), page
