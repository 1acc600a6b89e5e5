"""The mailings of a site, and the page of one: what became of its emails."""

from __future__ import annotations

from typing import Final

from masthead.admin.endpoint import Answer, Page, Redirect
from masthead.admin.request import AdminRequest
from masthead.admin.sections import POSTS
from masthead.errors import BadRequest, WrongState
from masthead.mail.wording import where_stored
from masthead.mailings.collection import ENDED, PAUSED, SCHEDULED, SENDING, mailings
from masthead.records.collection import Record
from masthead.records.read.page import ListRequest

ADDRESS: Final = "/admin/mailings"
MOST: Final = 50
"""Mailings in the list."""
_BADGES: Final = {
    "scheduled": "draft",
    "sending": "info",
    "paused": "warn",
    "sent": "good",
    "cancelled": "draft",
    "failed": "bad",
}
_COUNTS: Final = (
    ("sent", "Sent", "The mail server took the email."),
    ("failed", "Refused", "The mail server refused it for good, or for more than a day."),
    ("uncertain", "Uncertain", "It may have left or not. They are emailed again only by you."),
    ("bounced", "Bounced", "It came back: there is no such mailbox."),
    ("complained", "Called spam", "They get no newsletter any more."),
    ("unsubscribed", "Unsubscribed before", "They left before their email did, and got none."),
)
ACTIONS: Final = {
    "pause": "No further email leaves.",
    "resume": "It goes on.",
    "cancel": "It is cancelled. Nobody else gets it.",
    "again": "The uncertain are emailed again.",
}


async def mailing_page(request: AdminRequest, mailing_id: str) -> Answer:
    mailing = await request.records.get(request.caller, mailings, mailing_id)
    done = sum(mailing[name] for name in ("sent", "failed", "uncertain", "unsubscribed"))
    status = mailing["status"]
    values = {
        "mailing": mailing,
        "badge_kind": _BADGES[status],
        "status": status.capitalize(),
        "own": f"{ADDRESS}/{mailing_id}",
        "post": POSTS.url(mailing["post_id"]) if mailing["post_id"] else "",
        "done": min(done, mailing["recipients"]),
        "is_open": status not in ENDED,
        "is_working": status == SENDING,
        "is_paused": status == PAUSED,
        "when": _when(request, mailing),
        "counts": [(label, mailing[name], help_text) for name, label, help_text in _COUNTS],
        "stored": where_stored(request.services.settings),
    }
    return Page(
        "mailings/mailing.html", mailing["subject"], values, fragment="mailings/_mailing.html"
    )


async def act(request: AdminRequest, mailing_id: str) -> Answer:
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
    except WrongState as error:
        said = str(error)
    return Redirect(f"{ADDRESS}/{mailing_id}", said)


async def mailings_list(request: AdminRequest) -> Answer:
    wanted = ListRequest(per_page=MOST, sort="-created", skip_total=True)
    found = await request.records.page(request.caller, mailings, wanted)
    rows = [
        {
            "url": f"{ADDRESS}/{each['id']}",
            "subject": each["subject"],
            "newsletter": each["newsletter"],
            "badge_kind": _BADGES[each["status"]],
            "status": each["status"].capitalize(),
            "recipients": each["recipients"],
            "sent": each["sent"],
            "when": request.when(each["created"]),
        }
        for each in found.items
    ]
    return Page("mailings/list.html", "Mailings", {"rows": rows})


def _when(request: AdminRequest, mailing: Record) -> str:
    if mailing["status"] == SCHEDULED:
        return f"Begins {request.when(mailing['scheduled_for'])}"
    if mailing["finished_at"]:
        return f"Ended {request.when(mailing['finished_at'])}"
    return f"Began {request.when(mailing['started_at'])}" if mailing["started_at"] else ""
