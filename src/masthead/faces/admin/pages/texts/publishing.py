"""The dialog before a text changes on the site: what happens, when and for whom, said in a sentence
before the button. It is a page, so that it works by keyboard, on a phone and without script."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from masthead.base.errors import Conflict, Invalid, PlanTooSmall, WrongState
from masthead.base.languages.words import counted, words
from masthead.content.texts.editing import Opened, change_draft, open_text, put_live, take_down
from masthead.content.texts.publication import PUBLISHED
from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.environment import number as shown_number
from masthead.faces.admin.forms import summary
from masthead.faces.admin.lists import with_query
from masthead.faces.admin.moments import future_moment, past_in_words, typed_in_words, typed_moment
from masthead.faces.admin.pages.mailings.choosing import (
    FIELD_LABELS,
    MailChoice,
    check_mail,
    chosen_mail,
    count_readers,
    form_values,
    mailings_of,
    newsletter_names,
    nobody_in_words,
    readers_in_words,
    try_values,
)
from masthead.faces.admin.pages.mailings.mailing import ADDRESS as MAILINGS
from masthead.faces.admin.pages.mailings.preview import with_visibility
from masthead.faces.admin.pages.mailings.sending import (
    begin_mailing,
    mail_link,
    mailed_in_words,
    may_mail,
)
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import READERS, Section
from masthead.features.mailings.collection import who_sends

LATER: Final = "publish_on"
"""The field of the time at which a draft publishes itself."""
PUBLISH, SCHEDULE, UNSCHEDULE = "publish", "schedule", "unschedule"
UPDATE, KEEP, UNPUBLISH = "update", "keep", "unpublish"
SITE, BOTH = "site", "both"
_PLACES: Final = {SITE: words("On the site"), BOTH: words("On the site and by email")}
_PLACES_OF_EMAILS: Final = {SITE: words("No email yet"), BOTH: words("By email")}

_LABELS: Final = {
    PUBLISH: words("Now"),
    SCHEDULE: words("At a time"),
    UNSCHEDULE: words("Don’t publish automatically"),
    UPDATE: words("Update it"),
    KEEP: words("Leave it"),
    UNPUBLISH: words("Take it off the site"),
}
_BUTTONS: Final = {
    PUBLISH: (words("Publish"), words("Publishing…")),
    SCHEDULE: (words("Schedule"), words("Scheduling…")),
    UNSCHEDULE: (words("Cancel the schedule"), words("Working…")),
    UPDATE: (words("Update"), words("Updating…")),
    UNPUBLISH: (words("Unpublish"), words("Working…")),
}
_DONE: Final = {
    PUBLISH: (words("The post is published."), words("The page is published.")),
    SCHEDULE: (words("The post is scheduled."), words("The page is scheduled.")),
    UNSCHEDULE: (
        words("The post is no longer scheduled."),
        words("The page is no longer scheduled."),
    ),
    UPDATE: (words("The change is live."), words("The change is live.")),
    UNPUBLISH: (words("The post is a draft now."), words("The page is a draft now.")),
}
_GONE: Final = words("Its address will show “Not found”.")
_WHO_READS: Final = {
    "public": words("Everyone can read it."),
    "members": words("Members can read it."),
    "paid": words("Paid members can read it."),
}


class PublishingChoice(msgspec.Struct, frozen=True):
    what: str
    visibility: str = ""
    """Empty for a text that everyone reads."""
    later: str = ""
    """As the field has it, in the site's time zone."""
    mail: MailChoice | None = None
    """None: no email is sent."""

    @property
    def mark(self) -> str:
        """Identifies the sentence that was shown. If the choice has changed since, the sentence is
        shown again first."""
        return sha256(repr(self).encode()).hexdigest()[:16]


class Dialog(msgspec.Struct, frozen=True):
    """A text in the dialog, with its mailings."""

    section: Section
    opened: Opened
    mailings: list[Record]
    can_mail: bool
    """Whether it can be published and mailed in one go."""

    @property
    def text_id(self) -> str:
        return str(self.opened.text["id"])

    @property
    def is_email_only(self) -> bool:
        return bool(self.opened.values.get("email_only"))

    @property
    def own(self) -> str:
        return self.section.url(self.text_id)


async def publish_form(section: Section, request: AdminRequest, text_id: str) -> Answer:
    dialog = await _dialog(section, request, text_id)
    return await _page(request, dialog, _chosen(request, dialog, request.form or request.query))


async def publish(section: Section, request: AdminRequest, text_id: str) -> Answer:
    dialog = await _dialog(section, request, text_id)
    choice = _chosen(request, dialog, request.form)
    if request.form.get("said") != choice.mark:
        # Without script the sentence could not follow what was chosen.
        return await _page(request, dialog, choice)
    try:
        if choice.mail is not None:
            await check_mail(request, choice.mail)
        await _act(request, dialog.opened, choice)
    except Conflict:
        return Redirect(
            dialog.own,
            section.said(
                words("Nothing was published: this post has been saved since. Check it again."),
                words("Nothing was published: this page has been saved since. Check it again."),
            ),
        )
    done = words("Nothing has changed.")
    if choice.what in _DONE:
        done = section.said(*_DONE[choice.what])
    if choice.mail is None:
        return Redirect(dialog.own, done)
    return await _mail(request, dialog, choice, choice.mail, done=done)


async def _mail(
    request: AdminRequest, dialog: Dialog, choice: PublishingChoice, mail: MailChoice, *, done: str
) -> Redirect:
    """The second step. If it is refused, or the service ends before it, the text is published, and
    its page offers to mail it."""
    later = choice.what == SCHEDULE
    try:
        at = future_moment(request, LATER, choice.later) if later else ""
        made = await begin_mailing(request, dialog.text_id, mail, at)
    except Invalid as error:
        why = " ".join(str(each.message) for each in error.problems.values())
    except (PlanTooSmall, WrongState, Conflict) as error:
        why = str(error)
    else:
        begun = words("Its email will be sent then.") if later else words("Sending has begun.")
        return Redirect(f"{MAILINGS}/{made['id']}", f"{done} {begun}")
    chosen = {**mail.values, "labels": ", ".join(mail.labels)}
    return Redirect(
        with_query(f"{dialog.own}/mail", **chosen),
        words("%(done)s No email was sent: %(why)s", done=done, why=why),
    )


async def _dialog(section: Section, request: AdminRequest, text_id: str) -> Dialog:
    opened = await open_text(request.records, request.caller, section.kind, text_id)
    if not may_mail(section, request):
        return Dialog(section, opened, [], can_mail=False)
    made = await mailings_of(request, text_id)
    is_draft = opened.text["status"] != PUBLISHED
    return Dialog(section, opened, made, can_mail=is_draft and not made)


def _chosen(request: AdminRequest, dialog: Dialog, given: Mapping[str, str]) -> PublishingChoice:
    options = _options(dialog.section, dialog.opened)
    what = given.get("what", "")
    what = what if what in options else options[0]
    stored, goes_live = dialog.opened.values, what in (PUBLISH, SCHEDULE)
    visibility = given.get("visibility", "")
    if "visibility" not in stored:
        visibility = ""
    elif not goes_live or visibility not in READERS:
        visibility = stored["visibility"]
    later = given.get(LATER, typed_moment(request, stored.get("scheduled_for", "")))
    to = given.get("to") or (BOTH if dialog.is_email_only else SITE)
    mails = dialog.can_mail and goes_live and to == BOTH
    mail = chosen_mail(stored, given) if mails else None
    return PublishingChoice(what, visibility, later if what == SCHEDULE else "", mail)


def _options(section: Section, opened: Opened) -> list[str]:
    """The possible actions on the text; the most likely one comes first."""
    if opened.text["status"] == PUBLISHED:
        return [UPDATE, UNPUBLISH] if opened.copy is not None else [KEEP, UNPUBLISH]
    if not section.has_schedule:
        return [PUBLISH]
    if opened.text["scheduled_for"]:
        return [SCHEDULE, PUBLISH, UNSCHEDULE]
    return [PUBLISH, SCHEDULE]


async def _act(request: AdminRequest, opened: Opened, choice: PublishingChoice) -> None:
    text = (request.records, request.caller, opened.kind, opened.text["id"])
    version = request.form.get("version", "")
    seen_both = "replaces_newer" in request.form
    given: dict[str, Any] = {"visibility": choice.visibility} if choice.visibility else {}
    if choice.visibility and choice.visibility != "paid":
        given["tiers"] = []
    if choice.what in (PUBLISH, UPDATE):
        await put_live(*text, version=version, given=given, replaces_newer=seen_both)
    elif choice.what == UNPUBLISH:
        await take_down(*text, version=version, replaces_newer=seen_both)
    elif choice.what in (SCHEDULE, UNSCHEDULE):
        is_later = choice.what == SCHEDULE
        moment = future_moment(request, LATER, choice.later) if is_later else ""
        state = {"scheduled_for": moment}
        await change_draft(*text, version=version, state=state, given=given)


async def _page(request: AdminRequest, dialog: Dialog, choice: PublishingChoice) -> Page:
    section, opened = dialog.section, dialog.opened
    title = opened.values["title"]
    is_published = opened.text["status"] == PUBLISHED
    names = await newsletter_names(request) if dialog.can_mail or dialog.mailings else {}
    is_known = choice.mail is not None and choice.mail.newsletter in names
    number = await count_readers(request, choice.mail) if choice.mail and is_known else 0
    act, busy = _button(choice, number)
    past = past_in_words(request, choice.later)
    labels = {name: name.capitalize() for name in request.problems}
    labels |= {**FIELD_LABELS, LATER: words("Time")}
    values: dict[str, Any] = {
        "section": section,
        "own": dialog.own,
        "address": f"{dialog.own}/publish",
        "version": (request.form if request.problems else {}).get("version", opened.version),
        "is_published": is_published,
        "is_outdated": opened.is_outdated,
        "options": [
            (each, _LABELS[each], each == choice.what) for each in _options(section, opened)
        ],
        "readers": _readers(choice) if choice.visibility and not is_published else [],
        "later": {"name": LATER, "value": choice.later, "zone": str(request.time_zone)},
        "has_time": SCHEDULE in _options(section, opened),
        "sentence": past
        or _sentence(
            request, dialog, choice, _mailed(request, dialog, choice, number, names=names)
        ),
        "is_past": bool(past),
        "mark": choice.mark,
        "act": act,
        "mails": await mail_link(section, request, opened.text),
        "busy": busy,
        # The sentence that follows a choice leaves the focus at the choice.
        "focuses": not request.is_fragment,
        "problems": summary(request, labels),
        **await _mail_values(request, dialog, choice, names),
    }
    heading = words("On the site") if is_published else words("Publish")
    return Page(
        "texts/publish.html",
        f"{heading}: {title}",
        {**values, "heading": heading, "title": title},
        fragment="texts/_outcome.html",
    )


async def _mail_values(
    request: AdminRequest, dialog: Dialog, choice: PublishingChoice, names: Mapping[str, str]
) -> dict[str, Any]:
    if not dialog.can_mail:
        return {"places": [], "bytes": 0}
    chosen = BOTH if choice.mail else SITE
    places = _PLACES_OF_EMAILS if dialog.is_email_only else _PLACES
    given = request.form or request.query
    mail = choice.mail or chosen_mail(dialog.opened.values, given)
    values = {
        **form_values(request, dialog.text_id, mail, names),
        "places": [(each, label, each == chosen) for each, label in places.items()],
        "bytes": 0,
    }
    if choice.mail is not None:
        post = with_visibility(dialog.opened.values, choice.visibility) | {"id": dialog.text_id}
        values |= await try_values(request, post, choice.mail, is_live=False)
    return values


def _button(choice: PublishingChoice, number: int) -> tuple[str, str]:
    act, busy = _BUTTONS.get(choice.what, ("", ""))
    if choice.mail is None or not number:
        return act, busy
    if choice.what != PUBLISH:
        return words("Schedule both"), busy
    said = counted(
        "Publish and send %(count)s email",
        "Publish and send %(count)s emails",
        number,
        count=shown_number(number),
    )
    return said, busy


def _readers(choice: PublishingChoice) -> list[tuple[str, str, bool]]:
    return [(name, label, name == choice.visibility) for name, label in READERS.items()]


def _sentence(request: AdminRequest, dialog: Dialog, choice: PublishingChoice, mailed: str) -> str:
    host = urlsplit(request.site_url).netloc
    who = _who_reads(dialog, choice)
    if dialog.is_email_only or dialog.opened.text.get("email_only"):
        return f"{_sentence_of_email(request, dialog, choice, host)} {mailed}".strip()
    match choice.what:
        case "publish":
            said = words("It goes live on %(host)s now. %(who)s", host=host, who=who)
        case "schedule":
            when = typed_in_words(request, choice.later)
            said = words(
                "It goes live on %(host)s automatically %(when)s. %(who)s",
                host=host,
                when=when,
                who=who,
            )
        case "unschedule":
            said = words("It stays a draft until you publish it yourself.")
        case "update":
            said = words(
                "Your changes replace what %(host)s shows now. %(who)s", host=host, who=who
            )
        case "unpublish":
            said = words("It becomes a draft and is removed from %(host)s now.", host=host)
            said = f"{said} {_GONE}"
            if dialog.opened.copy:
                stay = words("Changes that are not live yet stay in the draft.")
                said = f"{said} {stay}"
        case _:
            said = words(
                "It is live on %(host)s, without the waiting changes. %(who)s", host=host, who=who
            )
    return f"{said} {mailed}".strip()


def _who_reads(dialog: Dialog, choice: PublishingChoice) -> str:
    if choice.visibility == "paid" and dialog.opened.values["tiers"]:
        return words("Paid members with one of its tiers can read it.")
    return _WHO_READS.get(choice.visibility, words("Everyone can read it."))


def _sentence_of_email(
    request: AdminRequest, dialog: Dialog, choice: PublishingChoice, host: str
) -> str:
    """The sentence about a text that has no page, or has none until now."""
    no_page = words(
        "It has no page on %(host)s: only those who get the email can read it.", host=host
    )
    match choice.what:
        case "publish":
            return words("It is published now. %(no_page)s", no_page=no_page)
        case "schedule":
            return words(
                "It is published automatically %(typed_in_words)s. %(no_page)s",
                typed_in_words=typed_in_words(request, choice.later),
                no_page=no_page,
            )
        case "unschedule":
            return words("It stays a draft until you publish it yourself.")
        case "unpublish":
            return words("It becomes a draft. It has no page on %(host)s.", host=host)
        case "update" if not dialog.is_email_only:
            return words(
                "It gets a page on %(host)s now. %(who_reads)s",
                host=host,
                who_reads=_who_reads(dialog, choice),
            )
        case "update" if not dialog.opened.text["email_only"]:
            return words("It is removed from %(host)s now. %(gone)s", host=host, gone=_GONE)
        case "update":
            return words("Your changes replace the published text. %(no_page)s", no_page=no_page)
        case _:
            return words("It is published. %(no_page)s", no_page=no_page)


def _mailed(
    request: AdminRequest,
    dialog: Dialog,
    choice: PublishingChoice,
    number: int,
    *,
    names: Mapping[str, str],
) -> str:
    """Who gets an email; empty for texts that are never emailed."""
    if not dialog.section.has_schedule:
        return ""
    if choice.mail is None:
        said = [
            mailed_in_words(request, each, names.get(each["newsletter"], ""))
            for each in dialog.mailings
        ]
        return " ".join(map(str, said)) or _nobody(request, dialog)
    newsletter = names.get(choice.mail.newsletter, "")
    if not number:
        return nobody_in_words(choice.mail, newsletter)
    mailed = {
        "subject": choice.mail.subject,
        "members": readers_in_words(choice.mail, number, newsletter),
    }
    if choice.what == SCHEDULE:
        return words("“%(subject)s” will be emailed then to %(members)s, once.", **mailed)
    return words("“%(subject)s” will be emailed now to %(members)s, once.", **mailed)


def _nobody(request: AdminRequest, dialog: Dialog) -> str:
    said = words("Nobody gets an email.")
    if may_mail(dialog.section, request):
        return said
    return words(
        "%(said)s To email it to members, ask %(who_sends)s.",
        said=said,
        who_sends=who_sends(request.site_record),
    )
