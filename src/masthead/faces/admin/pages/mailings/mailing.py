"""The mailings of a site, and the page of one with the states of its emails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from masthead.base.caller import Kind
from masthead.base.errors import BadRequest, PlanTooSmall, WrongState
from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.environment import clock_time
from masthead.faces.admin.lists import ListPage
from masthead.faces.admin.pages.mailings.choosing import AUDIENCE_WORDS, newsletter_names
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
_COUNTS: Final = (
    ("sent", "Sent", "The mail server accepted the email."),
    ("failed", "Refused", "The mail server refused it permanently, or for more than a day."),
    (
        "uncertain",
        "Uncertain",
        "It may or may not have been sent. You decide whether to send it again.",
    ),
    ("unsubscribed", "Unsubscribed", "They left before their email was sent."),
    ("bounced", "Bounced", "The mailbox does not exist. Also counted above."),
    ("complained", "Reported as spam", "They get no more newsletters. Also counted above."),
)
"""The first four add up to the recipients."""
_STORED: Final = (
    ("sent", "Written to files, not sent", "The service has no mail server."),
    *_COUNTS[1:],
)
_MEASURED: Final = (
    ("opens", "Opened", "Readers whose mail program loaded the pictures."),
    ("clicks", "Clicked", "Readers who followed a link."),
)
"""Only where the site counts them."""
ACTIONS: Final = {
    "pause": "The mailing is paused. No more emails are sent.",
    "resume": "The mailing continues.",
    "cancel": "The mailing is cancelled. No one else will get it.",
    "again": "The uncertain emails are being sent again.",
}
ASKED: Final = {
    "again": (
        "Send the uncertain emails again?",
        "{uncertain:,} {people} may have got this email already: the connection or the service "
        "ended before the mail server had answered. Anyone who already received it will get it "
        "twice.",
        "Email them again",
        "Starting…",
    ),
    "cancel": (
        "Cancel the rest?",
        "{left:,} {others} will not get it. The {sent:,} that were sent stay sent, and {what} "
        "can’t be emailed to this newsletter again.",
        "Cancel the rest",
        "Cancelling…",
    ),
}
"""Title, sentence and button of what is asked before it is done."""


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
        return f"To new {mailing['welcome']} members, as they join"
    names = await newsletter_names(request)
    whom = AUDIENCE_WORDS[mailing["audience"]]
    labels = mailing["labels"]
    shown = msgspec.json.decode(labels) if isinstance(labels, msgspec.Raw) else labels
    labelled = f" with the label {' or '.join(shown)}" if shown else ""
    newsletter = names.get(mailing["newsletter"], mailing["newsletter"])
    return f"To {whom} of {newsletter}{labelled}"


async def ask(name: str, request: AdminRequest, mailing_id: str) -> Answer:
    """Before what can't be taken back."""
    refuse_sending(request.caller, request.site_record)
    mailing = await request.records.get(request.caller, mailings, mailing_id)
    own = f"{ADDRESS}/{mailing_id}"
    if name == "again" and not mailing["uncertain"]:
        return Redirect(own, "No recipient is uncertain.")
    if name == "cancel" and mailing["kind"] == WELCOME:
        return Redirect(own, NEVER_ENDS)
    if name == "cancel" and mailing["status"] in ENDED:
        return Redirect(own, "The mailing has ended.")
    title, sentence, label, busy = ASKED[name]
    left = max(mailing["recipients"] - _done(mailing), 0)
    what = "this digest" if mailing["kind"] == DIGEST else "this post"
    said = sentence.format(
        uncertain=mailing["uncertain"],
        people="person" if mailing["uncertain"] == 1 else "people",
        left=left,
        others="recipient" if left == 1 else "recipients",
        sent=mailing["sent"],
        what=what,
    )
    if name == "cancel" and not mailing["sent"]:
        said = _said_before_anyone_got_it(mailing, left)
    values = {"own": own, "do": name, "said": said, "label": label, "busy": busy}
    return Page("mailings/ask.html", title, {**values, "subject": mailing["subject"]})


def _said_before_anyone_got_it(mailing: Record, left: int) -> str:
    others = "1 recipient" if left == 1 else f"{left:,} recipients"
    said = f"{others} will not get it." if left else "Nobody gets it."
    if mailing["kind"] == POST:
        return f"{said} If no email has left by then, you can email the post again."
    return said


async def act(request: AdminRequest, mailing_id: str) -> Answer:
    refuse_sending(request.caller, request.site_record)
    name = request.form.get("do", "")
    if name not in ACTIONS:
        raise BadRequest("Choose what to do with the mailing.")
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
    title = "Mailings"
    about = "Posts, digests and welcome emails that went to members, newest first"
    collection = mailings
    template = "mailings/_list.html"
    live = "mailings"
    empty = (
        "No mailings yet",
        "Write a post, press Publish… and choose On the site and by email.",
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
    words = "Written to files" if status == SENT and stored else status.capitalize()
    return _BADGES[status], words


def _to(mailing: Record, names: Mapping[str, str]) -> str:
    if mailing["kind"] == WELCOME:
        return f"New {mailing['welcome']} members"
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
        return f"Begins {time_of(at)}" if at else "Its list of recipients is being written"
    if mailing["finished_at"]:
        return f"Ended {time_of(mailing['finished_at'])}"
    return f"Began {time_of(mailing['started_at'])}" if mailing["started_at"] else ""
