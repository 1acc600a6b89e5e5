"""The dialog before a text changes on the site: what happens, when and for whom, said in a sentence
before the button. It is a page, so that it works by keyboard, on a phone and without script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlsplit

from masthead import clock
from masthead.admin.endpoint import Answer, Page, Redirect
from masthead.admin.forms import sentence_of
from masthead.admin.pages.mailings.mailing import mail_address
from masthead.admin.request import AdminRequest
from masthead.admin.sections import READERS, Section
from masthead.errors import Conflict, Invalid, Problem
from masthead.texts.editing import Opened, open_text, put_live, schedule, take_down
from masthead.texts.publication import PUBLISHED

LATER: Final = "publish_on"
"""The field of the time at which a draft publishes itself."""
PUBLISH, SCHEDULE, UNSCHEDULE = "publish", "schedule", "unschedule"
UPDATE, KEEP, UNPUBLISH = "update", "keep", "unpublish"

_LABELS: Final = {
    PUBLISH: "Now",
    SCHEDULE: "At a time",
    UNSCHEDULE: "Not by itself",
    UPDATE: "Update it",
    KEEP: "Leave it",
    UNPUBLISH: "Take it off the site",
}
_BUTTONS: Final = {
    PUBLISH: ("Publish", "Publishing…"),
    SCHEDULE: ("Schedule", "Scheduling…"),
    UNSCHEDULE: ("Don’t publish then", "Working…"),
    UPDATE: ("Update", "Updating…"),
    UNPUBLISH: ("Unpublish", "Working…"),
}
_DONE: Final = {
    PUBLISH: "The {noun} is published.",
    SCHEDULE: "The {noun} is scheduled.",
    UNSCHEDULE: "The {noun} is no longer scheduled.",
    UPDATE: "The change is live.",
    UNPUBLISH: "The {noun} is a draft now.",
}
_WHO_READS: Final = {
    "public": "Everyone can read it.",
    "members": "Members can read it.",
    "paid": "Paid members can read it.",
}


@dataclass(frozen=True, slots=True)
class Choice:
    what: str
    visibility: str = ""
    """Empty for a text that everyone reads."""
    later: str = ""
    """As the field has it, in the site's time zone."""

    @property
    def mark(self) -> str:
        """Stands for what was said: the button does that, or it is said anew."""
        return sha256(repr(self).encode()).hexdigest()[:16]


async def publish_form(section: Section, request: AdminRequest, text_id: str) -> Answer:
    opened = await open_text(request.records, request.caller, section.kind, text_id)
    return _page(section, request, opened, _chosen(section, request, opened, request.query))


async def publish(section: Section, request: AdminRequest, text_id: str) -> Answer:
    opened = await open_text(request.records, request.caller, section.kind, text_id)
    choice = _chosen(section, request, opened, request.form)
    if request.form.get("said") != choice.mark:
        # Without script the sentence could not follow what was chosen.
        return _page(section, request, opened, choice)
    try:
        await _act(request, opened, choice)
    except Invalid as error:
        return _page(section, request, opened, choice, error.problems)
    except Conflict:
        return Redirect(
            section.url(text_id),
            f"Nothing was published: this {section.noun} was saved since. Look at it again.",
        )
    done = _DONE.get(choice.what, "Nothing has changed.")
    return Redirect(section.url(text_id), done.format(noun=section.noun))


def _chosen(
    section: Section, request: AdminRequest, opened: Opened, given: Mapping[str, str]
) -> Choice:
    options = _options(section, opened)
    what = given.get("what", "")
    what = what if what in options else options[0]
    stored = opened.values
    visibility = given.get("visibility", "")
    if "visibility" not in stored:
        visibility = ""
    elif what not in (PUBLISH, SCHEDULE) or visibility not in READERS:
        visibility = stored["visibility"]
    at = stored.get("scheduled_for", "")
    later = given.get(LATER, f"{request.local(at):%Y-%m-%dT%H:%M}" if at else "")
    return Choice(what, visibility, later if what == SCHEDULE else "")


def _options(section: Section, opened: Opened) -> list[str]:
    """What can be done with the text; what is most likely wanted comes first."""
    if opened.text["status"] == PUBLISHED:
        return [UPDATE, UNPUBLISH] if opened.copy is not None else [KEEP, UNPUBLISH]
    if not section.has_schedule:
        return [PUBLISH]
    if opened.text["scheduled_for"]:
        return [SCHEDULE, PUBLISH, UNSCHEDULE]
    return [PUBLISH, SCHEDULE]


async def _act(request: AdminRequest, opened: Opened, choice: Choice) -> None:
    text = (request.records, request.caller, opened.kind, opened.text["id"])
    version = request.form.get("version", "")
    seen_both = "replaces_newer" in request.form
    given = {"visibility": choice.visibility} if choice.visibility else {}
    if choice.what in (PUBLISH, UPDATE):
        await put_live(*text, version, given, replaces_newer=seen_both)
    elif choice.what == UNPUBLISH:
        await take_down(*text, version, replaces_newer=seen_both)
    elif choice.what in (SCHEDULE, UNSCHEDULE):
        moment = _moment(request, choice) if choice.what == SCHEDULE else ""
        await schedule(*text, version, moment, given)


def _moment(request: AdminRequest, choice: Choice) -> str:
    try:
        chosen = datetime.fromisoformat(choice.later)
        moment = chosen.replace(tzinfo=request.time_zone).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise Invalid(
            {LATER: Problem("validation_invalid_date", "Choose a day and a time.")}
        ) from error
    if moment <= request.now:
        raise Invalid({LATER: Problem("validation_past", "Choose a time in the future.")})
    return clock.to_text(moment)


def _page(
    section: Section,
    request: AdminRequest,
    opened: Opened,
    choice: Choice,
    problems: Mapping[str, Problem] | None = None,
) -> Page:
    text_id, title = opened.text["id"], opened.values["title"]
    is_published = opened.text["status"] == PUBLISHED
    act, busy = _BUTTONS.get(choice.what, ("", ""))
    values: dict[str, Any] = {
        "section": section,
        "own": section.url(text_id),
        "address": f"{section.url(text_id)}/publish",
        "version": request.form.get("version", opened.version) if problems else opened.version,
        "is_published": is_published,
        "is_outdated": opened.is_outdated,
        "options": [
            (each, _LABELS[each], each == choice.what) for each in _options(section, opened)
        ],
        "readers": _readers(choice) if choice.visibility and not is_published else [],
        "later": {"name": LATER, "value": choice.later, "zone": str(request.time_zone)},
        "has_time": SCHEDULE in _options(section, opened),
        "sentence": _sentence(request, opened, choice),
        "mark": choice.mark,
        "act": act,
        "mails": mail_address(section, request, opened.text),
        "busy": busy,
        # The sentence that follows a choice leaves the focus at the choice.
        "focuses": not request.is_fragment,
        "problems": {
            name: ("Time" if name == LATER else name.capitalize(), sentence_of(each))
            for name, each in (problems or {}).items()
        },
    }
    heading = "On the site" if is_published else "Publish"
    return Page(
        "texts/publish.html",
        f"{heading}: {title}",
        {**values, "heading": heading, "title": title},
        status=422 if problems else 200,
        fragment="texts/_outcome.html",
    )


def _readers(choice: Choice) -> list[tuple[str, str, bool]]:
    return [(name, label, name == choice.visibility) for name, label in READERS.items()]


def _sentence(request: AdminRequest, opened: Opened, choice: Choice) -> str:
    host = urlsplit(request.site_url).netloc
    who = _WHO_READS.get(choice.visibility, "Everyone can read it.")
    match choice.what:
        case "publish":
            return f"It goes live on {host} now. {who}"
        case "schedule":
            return f"It goes live on {host} by itself {_when(request, choice)}. {who}"
        case "unschedule":
            return "It stays a draft until you publish it yourself."
        case "update":
            return f"Your changes replace what {host} shows now. {who}"
        case "unpublish":
            lost = " Changes that are not live yet stay in the draft." if opened.copy else ""
            return f"It leaves {host} now and becomes a draft. Its address answers 404.{lost}"
    return f"It is on {host}, without changes that wait. {who}"


def _when(request: AdminRequest, choice: Choice) -> str:
    try:
        moment = clock.from_text(_moment(request, choice)).astimezone(request.time_zone)
    except Invalid:
        return "at the time that you choose"
    return f"on {moment:%A}, {moment.day} {moment:%B %Y} at {moment:%H:%M} ({request.time_zone})"
