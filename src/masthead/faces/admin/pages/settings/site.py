"""The settings of the site for readers: its name, its language, and who may comment."""

from __future__ import annotations

from functools import cache
from zoneinfo import available_timezones

from masthead.base.languages.words import words
from masthead.faces.admin.endpoint import Answer, Redirect
from masthead.faces.admin.forms import Ask, Form
from masthead.faces.admin.pages.settings.subnav import SETTINGS, in_settings
from masthead.faces.admin.request import AdminRequest
from masthead.features.site.collection import site_settings

_ABOUT = (
    Ask("site_name", words("Name")),
    Ask(
        "site_description",
        words("Description"),
        words("Shown below the name and in search results."),
        rows=2,
    ),
    Ask(
        "language",
        words("Language"),
        words("A language tag such as en or pt-BR. If empty, English."),
    ),
    Ask(
        "languages",
        words("Other languages"),
        words(
            "Tags such as de or fr, separated by commas. Each has its "
            "own front page, lists and feeds "
            "at /de/ or /fr/, and texts and members can have it."
        ),
    ),
)
_READERS = (
    Ask("members_enabled", words("Readers can become members")),
    Ask("comments_enabled", words("Posts can be commented on")),
    Ask(
        "related_posts",
        words("Posts end with others on the same subject"),
        words("By tags and words."),
    ),
    Ask(
        "comments_by",
        words("Who can comment"),
        words("Staff always can."),
        choices={
            "everyone": words("Everyone"),
            "members": words("Members"),
            "paid": words("Paid members"),
        },
    ),
    Ask(
        "comments_moderation",
        words("Comments that need approval"),
        words("An owner or editor approves them before readers see them."),
        choices={
            "none": words("None"),
            "guests": words("Guests’ comments"),
            "all": words("All comments"),
        },
    ),
    Ask(
        "editors_send_mailings",
        words("Editors can email posts to members"),
        words("If this is off, only owners can."),
    ),
    Ask(
        "crawlers",
        words("Crawlers"),
        words("The site’s robots.txt asks them to keep to it."),
        choices={
            "all": words("Search engines and AI"),
            "search": words("Search engines, no AI"),
            "none": words("None: the site appears in no search engine"),
        },
    ),
    Ask(
        "count_views",
        words("Count views"),
        words("How often pages are read, without cookies and without storing who read them."),
    ),
)


@cache
def _form() -> Form:
    """With the time zones, which are read from files."""
    names = sorted(available_timezones() - {"UTC", "localtime"})
    zones = {"": "UTC"} | {each: each.replace("_", " ") for each in names}
    zone = Ask(
        "time_zone",
        words("Time zone"),
        words("For dates on the site and in this admin."),
        choices=zones,
    )
    return Form(site_settings, (*_ABOUT, zone, *_READERS))


async def save_site(request: AdminRequest) -> Answer:
    given = _form().given(request)
    await request.records.update(request.caller, site_settings, request.site_record["id"], given)
    return Redirect(SETTINGS, words("Saved. The change is live."))


async def site_page(request: AdminRequest) -> Answer:
    values = {
        **_form().values(request, request.site_record),
        "about": [*(ask.name for ask in _ABOUT), "time_zone"],
        "readers": [ask.name for ask in _READERS],
        "address": SETTINGS,
    }
    return in_settings(request, "site.html", words("Site settings"), values)
