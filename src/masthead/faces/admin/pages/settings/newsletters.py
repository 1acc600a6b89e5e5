"""The newsletters of a site: what readers can subscribe to, and whom emails come from."""

from __future__ import annotations

from typing import Final

from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.engine.records.read.page import ListRequest
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.forms import Ask, Form
from masthead.faces.admin.newsletter_growth import growth_of
from masthead.faces.admin.pages.settings.subnav import NEWSLETTERS, in_settings
from masthead.faces.admin.request import AdminRequest
from masthead.features.members.newsletters import newsletters
from masthead.features.site.collection import MAIN_NEWSLETTER

_DAYS = {
    "monday": words("Monday"),
    "tuesday": words("Tuesday"),
    "wednesday": words("Wednesday"),
    "thursday": words("Thursday"),
    "friday": words("Friday"),
    "saturday": words("Saturday"),
    "sunday": words("Sunday"),
}

MOST: Final = 100
"""Newsletters in the list."""
FORM: Final = Form(
    newsletters,
    (
        Ask("name", words("Name"), words("Readers see it in each email and in their account.")),
        Ask(
            "description",
            words("What it is about"),
            words("Readers see it in their account."),
            rows=3,
        ),
        Ask("sender_name", words("Sender’s name"), words("If empty, the name of the site.")),
        Ask("reply_to", words("Replies go to"), words("If empty, to the sender’s address.")),
        Ask(
            "header_image",
            words("Picture at the top"),
            words("The address of a picture, or a path such as /media/…"),
            is_picture=True,
        ),
        Ask(
            "accent_color",
            words("Colour of links"),
            words("A colour such as #8f1d2c. If empty, the site’s."),
        ),
        Ask(
            "footer",
            words("Footer"),
            words("Such as your postal address, which some laws require."),
            rows=3,
        ),
        Ask(
            "count_opens",
            words("Count opens"),
            words(
                "Some mail programs always count as an open, others never. "
                "The footer tells readers that opens are counted."
            ),
        ),
        Ask(
            "count_clicks",
            words("Count clicks"),
            words(
                "Links lead through your site. The footer tells readers that clicks are counted."
            ),
        ),
        Ask(
            "digest",
            words("Weekly digest"),
            words(
                "One email a week with the new posts that each reader can "
                "read, unless there are none."
            ),
        ),
        Ask(
            "digest_weekday",
            words("Day of the digest"),
            choices=_DAYS,
        ),
        Ask(
            "digest_hour",
            words("Hour of the digest"),
            words("0 to 23, in the time zone of the site."),
        ),
        Ask(
            "is_default",
            words("For new members"),
            words("People who sign up for newsletters get this one."),
        ),
    ),
)


async def newsletters_page(request: AdminRequest) -> Answer:
    wanted = ListRequest(per_page=MOST, sort="created", skip_total=True)
    found = await request.records.page(request.caller, newsletters, wanted)
    growth = await growth_of(request, [each["slug"] for each in found.items])
    values = {"rows": found.items, "growth": growth, "address": NEWSLETTERS}
    return in_settings(request, "newsletters.html", words("Newsletters"), values)


async def new_newsletter_form(request: AdminRequest) -> Answer:
    request.records.check_may_create(request.caller, newsletters)
    return _page(request)


async def new_newsletter(request: AdminRequest) -> Answer:
    made = await request.records.create(request.caller, newsletters, FORM.given(request))
    return Redirect(NEWSLETTERS, words("%(name)s is ready.", name=made["name"]))


async def newsletter_form(request: AdminRequest, record_id: str) -> Answer:
    return _page(request, await request.records.get(request.caller, newsletters, record_id))


async def save_newsletter(request: AdminRequest, record_id: str) -> Answer:
    given = FORM.given(request)
    saved = await request.records.update(request.caller, newsletters, record_id, given)
    return Redirect(NEWSLETTERS, words("%(name)s is saved.", name=saved["name"]))


async def delete_form(request: AdminRequest, record_id: str) -> Answer:
    record = await request.records.get(request.caller, newsletters, record_id)
    values = {"address": f"{NEWSLETTERS}/{record_id}", "back": NEWSLETTERS}
    return in_settings(
        request, "delete-newsletter.html", words("Delete “%(name)s”?", name=record["name"]), values
    )


async def delete_newsletter(request: AdminRequest, record_id: str) -> Answer:
    gone = await request.records.delete(request.caller, newsletters, record_id)
    return Redirect(NEWSLETTERS, words("%(name)s is deleted.", name=gone["name"]))


def _page(request: AdminRequest, record: Record | None = None) -> Page:
    title = str(record["name"]) if record else words("New newsletter")
    values = {
        "title": title,
        **FORM.values(request, record),
        "action": f"{NEWSLETTERS}/{record['id'] if record else 'new'}",
        "is_new": record is None,
        "can_delete": record is not None and record["slug"] != MAIN_NEWSLETTER,
        "back": NEWSLETTERS,
    }
    return in_settings(request, "newsletter.html", title, values)
