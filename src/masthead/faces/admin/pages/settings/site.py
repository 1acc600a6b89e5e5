"""The settings of the site for readers: its name, look, language and links, and who may comment."""

from __future__ import annotations

import re
from functools import cache
from zoneinfo import available_timezones

import msgspec

from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.forms import Ask, Form
from masthead.faces.admin.pages.settings.subnav import SETTINGS, in_settings
from masthead.faces.admin.request import AdminRequest
from masthead.features.site.accent import DARK_GROUNDS, LIGHT_GROUNDS, NEEDED, contrast, readable
from masthead.features.site.collection import site_settings

_ABOUT = (
    Ask("site_name", "Name"),
    Ask("site_description", "Description", "Shown below the name and in search results.", rows=2),
    Ask("language", "Language", "A language tag such as en or pt-BR. If empty, English."),
)
_LINKS = (
    Ask(
        "navigation",
        "Links at the top of every page",
        "In this order. Clear both fields of a link to remove it.",
    ),
)
_COLOR = (
    Ask(
        "accent_color",
        "Colour of links",
        "A colour such as #8f1d2c. If empty, the theme's own.",
    ),
)
_READERS = (
    Ask("members_enabled", "Readers can become members"),
    Ask("comments_enabled", "Posts can be commented on"),
    Ask(
        "comments_by",
        "Who can comment",
        "Staff always can.",
        choices={"everyone": "Everyone", "members": "Members", "paid": "Paid members"},
    ),
    Ask(
        "comments_moderation",
        "Comments that need approval",
        "An owner or editor approves them before readers see them.",
        choices={"none": "None", "guests": "Guests’ comments", "all": "All comments"},
    ),
    Ask(
        "editors_send_mailings",
        "Editors can email posts to members",
        "If this is off, only owners can.",
    ),
    Ask(
        "crawlers",
        "Crawlers",
        "The site’s robots.txt asks them to keep to it.",
        choices={
            "all": "Search engines and AI",
            "search": "Search engines, no AI",
            "none": "None: the site appears in no search engine",
        },
    ),
    Ask(
        "count_views",
        "Count views",
        "How often pages are read, without cookies and without storing who read them.",
    ),
)
_PICTURES = (
    {
        "which": "logo",
        "field": "site_logo",
        "title": "Logo",
        "without": "Without one, the site shows its name.",
        "help": "Shown instead of the name, at most 160 by 32 pixels on most pages.",
    },
    {
        "which": "favicon",
        "field": "site_favicon",
        "title": "Icon",
        "without": "Without one, browsers show their default icon.",
        "help": "Shown in the browser tab. A square PNG, SVG or ICO.",
    },
)
_COLOUR = re.compile(r"#[0-9A-Fa-f]{6}")


class Accent(msgspec.Struct, frozen=True):
    """A colour as pages show it."""

    ground: str
    """light or dark."""
    paper: str
    color: str
    ratio: str
    """The contrast with the ground where it is weakest."""
    was: str
    """The same of the colour that was chosen, where that is too weak."""


@cache
def _form() -> Form:
    """With the time zones, which are read from files."""
    names = sorted(available_timezones() - {"UTC", "localtime"})
    zones = {"": "UTC"} | {each: each.replace("_", " ") for each in names}
    zone = Ask("time_zone", "Time zone", "For dates on the site and in this admin.", choices=zones)
    return Form(site_settings, (*_ABOUT, zone, *_COLOR, *_LINKS, *_READERS))


async def save_site(request: AdminRequest) -> Answer:
    given = _form().given(request)
    await request.records.update(request.caller, site_settings, request.site_record["id"], given)
    return Redirect(SETTINGS, "Saved. The change is live.")


async def accent_sample(request: AdminRequest) -> Answer:
    """While a colour is typed."""
    if not request.is_fragment:
        return Redirect(SETTINGS)
    values = {"accents": accents_of(request.query.get("accent_color", "").strip())}
    return Page("settings/_accent.html", "Colour", values, fragment="settings/_accent.html")


def accents_of(color: str) -> list[Accent]:
    """How the site shows a colour in light and in dark; nothing for a text that is none."""
    if not _COLOUR.fullmatch(color):
        return []
    grounds = (("light", LIGHT_GROUNDS), ("dark", DARK_GROUNDS))
    return [
        _accent(ground, papers, color, shown)
        for (ground, papers), shown in zip(grounds, readable(color), strict=True)
    ]


def _accent(ground: str, papers: tuple[str, ...], color: str, shown: str) -> Accent:
    weakest = min(contrast(color, paper) for paper in papers)
    ratio = min(contrast(shown, paper) for paper in papers)
    was = f"{weakest:.1f}" if weakest < NEEDED else ""
    return Accent(ground, papers[0], shown, f"{ratio:.1f}", was)


async def site_page(request: AdminRequest) -> Answer:
    record: Record = request.site_record
    form = _form().values(
        request, record, labels={each["field"]: each["title"] for each in _PICTURES}
    )
    values = {
        **form,
        "about": [*(ask.name for ask in _ABOUT), "time_zone"],
        "readers": [ask.name for ask in _READERS],
        "accents": accents_of(form["fields"]["accent_color"].value),
        "pictures": [each | {"url": record[each["field"]]} for each in _PICTURES],
        "address": SETTINGS,
    }
    return in_settings(request, "site.html", "Site settings", values)
