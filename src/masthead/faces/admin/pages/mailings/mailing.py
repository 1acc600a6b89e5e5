"""The mailings of a site, and the page of one with the states of its emails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from masthead.base.caller import Kind
from masthead.base.errors import BadRequest, PlanTooSmall, WrongState
from masthead.base.languages.words import counted, words
from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.environment import clock_time, number
from masthead.faces.admin.lists import ListPage
from masthead.faces.admin.pages.mailings.choosing import (
    AUDIENCE_WORDS,
    newsletter_names,
    with_labels,
)
from masthead.faces.admin.pages.settings.subnav import WELCOME as WELCOME_EMAILS
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import POSTS
from masthead.features.mailings.actions import NEVER_ENDS
from masthead.features.mailings.collection import (
    DIGEST,
    ENDED,
    FAILED,
    PAUSED,
    POST,
    SCHEDULED,
    SENDING,
    SENT,
    WELCOME,
    has_reached_nobody,
    mailings,
    may_send,
    refuse_sending,
    who_sends,
)
from masthead.outside.mail.wording import where_stored

ADDRESS: Final = "/admin/mailings"
MOST: Final = 50
"""Mailings on a page of the list."""
_ASKS_EVERY: Final = {SENDING: 2, SCHEDULED: 10}
"""Seconds after which the page asks for its progress."""
_BADGES: Final = {
    "scheduled": "draft",
    "sending": "info",
    "paused": "warn",
    "sent": "good",
    "cancelled": "draft",
    "failed": "bad",
}
_STATUS_WORDS: Final = {
    "scheduled": words("Scheduled"),
    "sending": words("Sending"),
    "paused": words("Paused"),
    "sent": words("Sent"),
    "cancelled": words("Cancelled"),
    "failed": words("Failed"),
}
_COUNTS: Final = (
    ("sent", words("Sent"), words("The mail server accepted the email.")),
    (
        "failed",
        words("Refused"),
        words("The mail server refused it permanently, or for more than a day."),
    ),
    (
        "uncertain",
        words("Uncertain"),
        words("It may or may not have been sent. You decide whether to send it again."),
    ),
    ("unsubscribed", words("Unsubscribed"), words("They left before their email was sent.")),
    ("bounced", words("Bounced"), words("The mailbox does not exist. Also counted above.")),
    (
        "complained",
        words("Reported as spam"),
        words("They get no more newsletters. Also counted above."),
    ),
)
"""The first four add up to the recipients."""
_STORED: Final = (
    ("sent", words("Written to files, not sent"), words("The service has no mail server.")),
    *_COUNTS[1:],
)
_MEASURED: Final = (
    ("opens", words("Opened"), words("Readers whose mail program loaded the pictures.")),
    ("clicks", words("Clicked"), words("Readers who followed a link.")),
)
"""Only where the site counts them."""
ACTIONS: Final = {
    "pause": words("The mailing is paused. No more emails are sent."),
    "resume": words("The mailing continues."),
    "cancel": words("The mailing is cancelled. No one else will get it."),
    "again": words("The uncertain emails are being sent again."),
}
ASKED: Final = {
    "again": (
        words("Send the uncertain emails again?"),
        words("Email them again"),
        words("Starting…"),
    ),
    "cancel": (
        words("Cancel the rest?"),
        words("Cancel the rest"),
        words("Cancelling…"),
    ),
}
"""Title and button of what is asked before it is done."""


async def mailing_page(request: AdminRequest, mailing_id: str) -> Answer:
    mailing = await request.records.get(request.caller, mailings, mailing_id)
    status, stored = mailing["status"], where_stored(request.services.settings)
    is_again = has_reached_nobody(mailing) and mailing["post_id"]
    values = {
        "mailing": mailing,
        "badge_of": _badge(status, stored),
        "own": f"{ADDRESS}/{mailing_id}",
        "post": POSTS.url(mailing["post_id"]) if mailing["post_id"] else "",
        "done": min(_done(mailing), mailing["recipients"]),
        "welcome": _text_of(request, mailing),
        "may_send": may_send(request.caller, request.site_record),
        "who_sends": who_sends(request.site_record),
        "is_open": status not in ENDED,
        "can_cancel": status not in ENDED and mailing["kind"] != WELCOME,
        "is_working": status == SENDING,
        "asks_every": _ASKS_EVERY.get(status, 0),
        "is_paused": status == PAUSED,
        "can_retry": _can_retry(mailing),
        "again": f"{POSTS.url(mailing['post_id'])}/mail" if is_again else "",
        "when": _when(request, mailing),
        "audience": await _audience(request, mailing),
        "counts": [
            (label, mailing[name], help_text, f"{ADDRESS}/{mailing_id}/recipients?state={name}")
            for name, label, help_text in (_STORED if stored else _COUNTS)
        ],
        "measured": [
            (label, mailing[name], help_text)
            for name, label, help_text in _MEASURED
            if mailing[name] is not None
        ],
        "stored": stored,
    }
    return Page(
        "mailings/mailing.html", mailing["subject"], values, fragment="mailings/_mailing.html"
    )


async def _audience(request: AdminRequest, mailing: Record) -> str:
    if mailing["kind"] == WELCOME:
        return (
            words("To new paid members, as they join")
            if mailing["welcome"] == "paid"
            else words("To new free members, as they join")
        )
    names = await newsletter_names(request)
    whom = AUDIENCE_WORDS[mailing["audience"]]
    labels = mailing["labels"]
    shown = msgspec.json.decode(labels) if isinstance(labels, msgspec.Raw) else labels
    newsletter = names.get(mailing["newsletter"], mailing["newsletter"])
    to = words("To %(members)s of %(newsletter)s", members=whom, newsletter=newsletter)
    return with_labels(to, shown)


async def ask(name: str, request: AdminRequest, mailing_id: str) -> Answer:
    """Before what can't be taken back."""
    refuse_sending(request.caller, request.site_record)
    mailing = await request.records.get(request.caller, mailings, mailing_id)
    own = f"{ADDRESS}/{mailing_id}"
    if name == "again" and not mailing["uncertain"]:
        return Redirect(own, words("No recipient is uncertain."))
    if name == "cancel" and mailing["kind"] == WELCOME:
        return Redirect(own, NEVER_ENDS)
    if name == "cancel" and mailing["status"] in ENDED:
        return Redirect(own, words("The mailing has ended."))
    title, label, busy = ASKED[name]
    left = max(mailing["recipients"] - _done(mailing), 0)
    if name == "again":
        said = _said_of_uncertain(mailing)
    elif mailing["sent"]:
        said = _said_of_rest(mailing, left)
    else:
        said = _said_before_anyone_got_it(mailing, left)
    values = {"own": own, "do": name, "said": said, "label": label, "busy": busy}
    return Page("mailings/ask.html", title, {**values, "subject": mailing["subject"]})


def _said_of_uncertain(mailing: Record) -> str:
    people = mailing["uncertain"]
    return counted(
        "%(count)s person may have got this email already: the connection or the service ended "
        "before the mail server had answered. Anyone who already received it will get it twice.",
        "%(count)s people may have got this email already: the connection or the service ended "
        "before the mail server had answered. Anyone who already received it will get it twice.",
        people,
        count=number(people),
    )


def _said_of_rest(mailing: Record, left: int) -> str:
    rest = _will_not_get_it(left)
    sent = number(mailing["sent"])
    stays = (
        words(
            "The %(sent)s that were sent stay sent, and this digest can’t be emailed to this "
            "newsletter again.",
            sent=sent,
        )
        if mailing["kind"] == DIGEST
        else words(
            "The %(sent)s that were sent stay sent, and this post can’t be emailed to this "
            "newsletter again.",
            sent=sent,
        )
    )
    return f"{rest} {stays}"


def _said_before_anyone_got_it(mailing: Record, left: int) -> str:
    said = _will_not_get_it(left) if left else words("Nobody gets it.")
    if mailing["kind"] == POST:
        again = words("If no email has left by then, you can email the post again.")
        return f"{said} {again}"
    return said


def _will_not_get_it(left: int) -> str:
    return counted(
        "%(count)s recipient will not get it.",
        "%(count)s recipients will not get it.",
        left,
        count=number(left),
    )


async def act(request: AdminRequest, mailing_id: str) -> Answer:
    refuse_sending(request.caller, request.site_record)
    name = request.form.get("do", "")
    if name not in ACTIONS:
        raise BadRequest(words("Choose what to do with the mailing."))
    actions = request.services.mailings.actions
    changes = {
        "pause": actions.pause,
        "resume": actions.resume,
        "cancel": actions.cancel,
        "again": actions.resend_uncertain,
    }
    said = ACTIONS[name]
    try:
        async with request.records.unit(request.caller) as unit:
            await changes[name](unit, mailing_id)
    except (WrongState, PlanTooSmall) as error:
        said = str(error)
    return Redirect(f"{ADDRESS}/{mailing_id}", said)


class MailingList(ListPage, frozen=True):
    address = ADDRESS
    title = words("Mailings")
    about = words("Posts, digests and welcome emails that went to members, newest first")
    collection = mailings
    template = "mailings/_list.html"
    live = "mailings"
    empty = (
        words("No mailings yet"),
        words("Write a post, press Publish… and choose On the site and by email."),
    )
    per_page = MOST
    is_counted = True

    async def values(self, request: AdminRequest, items: Sequence[Record]) -> dict[str, Any]:
        names = await newsletter_names(request)
        stored = where_stored(request.services.settings)
        rows = [
            each | {"to": _to(each, names), "badge": _badge(each["status"], stored)}
            for each in items
        ]
        return {"rows": rows, "total": -1}


def _text_of(request: AdminRequest, mailing: Record) -> str:
    """Where an owner edits a welcome email; '' for others."""
    may_edit = mailing["kind"] == WELCOME and request.caller.kind in (Kind.OWNER, Kind.OPERATOR)
    return f"{WELCOME_EMAILS}/{mailing['welcome']}" if may_edit else ""


def _badge(status: str, stored: str) -> tuple[str, str]:
    """Without a mail server, emails end as files."""
    said = words("Written to files") if status == SENT and stored else _STATUS_WORDS[status]
    return _BADGES[status], said


def _to(mailing: Record, names: Mapping[str, str]) -> str:
    if mailing["kind"] == WELCOME:
        return (
            words("New paid members") if mailing["welcome"] == "paid" else words("New free members")
        )
    return names.get(mailing["newsletter"], mailing["newsletter"])


def _can_retry(mailing: Record) -> bool:
    """Whether it has failed before all of its recipients were tried."""
    if mailing["status"] != FAILED or (mailing["kind"] == POST and not mailing["post_id"]):
        return False
    return not mailing["started_at"] or _done(mailing) < mailing["recipients"]


def _done(mailing: Record) -> int:
    return sum(mailing[name] for name in ("sent", "failed", "uncertain", "unsubscribed"))


def _when(request: AdminRequest, mailing: Record) -> str:
    def time_of(text: str) -> str:
        return clock_time(request.local(text))

    if mailing["status"] == SCHEDULED:
        at = mailing["scheduled_for"]
        if not at:
            return words("Its list of recipients is being written")
        return words("Begins %(time)s", time=time_of(at))
    if mailing["finished_at"]:
        return words("Ended %(time)s", time=time_of(mailing["finished_at"]))
    if not mailing["started_at"]:
        return ""
    return words("Began %(time)s", time=time_of(mailing["started_at"]))
