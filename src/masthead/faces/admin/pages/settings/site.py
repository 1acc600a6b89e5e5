"""The settings of the site for readers: its name, its language, and who may comment."""

from __future__ import annotations

from functools import cache
from zoneinfo import available_timezones

from masthead.faces.admin.endpoint import Answer, Redirect
from masthead.faces.admin.forms import Ask, Form
from masthead.faces.admin.pages.settings.subnav import SETTINGS, in_settings
from masthead.faces.admin.request import AdminRequest
from masthead.features.site.collection import site_settings

_ABOUT = (
    Ask("site_name", "Name"),
    Ask("site_description", "Description", "Shown below the name and in search results.", rows=2),
    Ask("language", "Language", "A language tag such as en or pt-BR. If empty, English."),
    Ask(
        "languages",
        "Other languages",
        "Tags such as de or fr, separated by commas. Each has its own front page, lists and feeds "
        "at /de/ or /fr/, and texts and members can have it.",
    ),
)
_READERS = (
    Ask("members_enabled", "Readers can become members"),
    Ask("comments_enabled", "Posts can be commented on"),
    Ask("related_posts", "Posts end with others on the same subject"),
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


@cache
def _form() -> Form:
    """With the time zones, which are read from files."""
    names = sorted(available_timezones() - {"UTC", "localtime"})
    zones = {"": "UTC"} | {each: each.replace("_", " ") for each in names}
    zone = Ask("time_zone", "Time zone", "For dates on the site and in this admin.", choices=zones)
    return Form(site_settings, (*_ABOUT, zone, *_READERS))


async def save_site(request: AdminRequest) -> Answer:
    given = _form().given(request)
    await request.records.update(request.caller, site_settings, request.site_record["id"], given)
    return Redirect(SETTINGS, "Saved. The change is live.")


async def site_page(request: AdminRequest) -> Answer:
    values = {
        **_form().values(request, request.site_record),
        "about": [*(ask.name for ask in _ABOUT), "time_zone"],
        "readers": [ask.name for ask in _READERS],
        "address": SETTINGS,
    }
    return in_settings(request, "site.html", "Site settings", values)
