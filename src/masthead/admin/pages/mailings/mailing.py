"""A post is mailed as a step of its own, after it was published: to whom, said in a sentence before
the button; then a page with what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from masthead.admin.endpoint import Answer, Page, Redirect
from masthead.admin.forms import sentence_of
from masthead.admin.request import AdminRequest
from masthead.admin.sections import POSTS, Section
from masthead.errors import BadRequest, Conflict, Invalid, PlanTooSmall, Problem, WrongState
from masthead.mail.wording import being_sent, where_stored
from masthead.mailings.collection import ENDED, PAUSED, SCHEDULED, SENDING, mailings
from masthead.mailings.newsletters import newsletters
from masthead.posts.collection import posts
from masthead.records.collection import Record
from masthead.records.read.page import ListRequest
from masthead.site.collection import MAIN_NEWSLETTER

ADDRESS: Final = "/admin/mailings"
AUDIENCES: Final = {"all": "All", "free": "Free members", "paid": "Paid members"}
_WHOM: Final = {"all": "members", "free": "free members", "paid": "paid members"}
MOST: Final = 50
"""Newsletters to choose from."""
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


@dataclass(frozen=True, slots=True)
class Choice:
    newsletter: str
    audience: str
    labels: tuple[str, ...]
    subject: str

    @property
    def values(self) -> dict[str, Any]:
        return {
            "newsletter": self.newsletter,
            "audience": self.audience,
            "labels": list(self.labels),
            "subject": self.subject,
        }

    @property
    def mark(self) -> str:
        return sha256(repr(self).encode()).hexdigest()[:16]


def mail_address(section: Section, request: AdminRequest, text: Record) -> str:
    """Where a published post is mailed; empty for other texts, and for all but owners."""
    can_mail = section is POSTS and text["status"] == "published" and request.caller.is_admin
    return f"{section.url(text['id'])}/mail" if can_mail else ""


async def mail_form(request: AdminRequest, post_id: str) -> Answer:
    post = await _post(request, post_id)
    return await _page(request, post, _chosen(post, request.query))


async def mail_post(request: AdminRequest, post_id: str) -> Answer:
    post = await _post(request, post_id)
    choice = _chosen(post, request.form)
    if request.form.get("said") != choice.mark:
        return await _page(request, post, choice)
    try:
        async with request.records.unit(request.caller) as unit:
            starting = request.services.mailings.starting
            made = await starting.create(unit, {"post_id": post_id, **choice.values})
    except Invalid as error:
        return await _page(request, post, choice, error.problems)
    except (PlanTooSmall, WrongState, Conflict) as error:
        refused = Problem("refused", str(error))
        return await _page(request, post, choice, {"newsletter": refused})
    return Redirect(f"{ADDRESS}/{made['id']}", "Sending has begun.")


async def mail_test(request: AdminRequest, post_id: str) -> Answer:
    await _post(request, post_id)
    letters = request.services.mailings.test_letters
    try:
        # Before the transaction, which must not wait for it.
        drawn = await letters.draw(request.tenant_id, post_id, request.account["email"])
    except Invalid as error:
        # An operator is none of the site's staff.
        raise BadRequest(" ".join(each.message for each in error.problems.values())) from error
    async with request.records.unit(request.caller) as unit:
        await letters.queue(unit, drawn)
    said = being_sent(request.services.settings, "A test email", request.account["email"])
    return Redirect(f"{POSTS.url(post_id)}/mail", said)


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


async def _post(request: AdminRequest, post_id: str) -> Record:
    return await request.records.get(request.caller, posts, post_id)


def _chosen(post: Record, given: Mapping[str, str]) -> Choice:
    audience = given.get("audience", "")
    labels = (each.strip() for each in given.get("labels", "").split(","))
    return Choice(
        given.get("newsletter") or MAIN_NEWSLETTER,
        audience if audience in AUDIENCES else "all",
        tuple(dict.fromkeys(each for each in labels if each)),
        given.get("subject", "").strip() or post["title"],
    )


async def _page(
    request: AdminRequest,
    post: Record,
    choice: Choice,
    problems: Mapping[str, Problem] | None = None,
) -> Page:
    wanted = ListRequest(per_page=MOST, sort="created", skip_total=True)
    found = (await request.records.page(request.caller, newsletters, wanted)).items
    names = {each["slug"]: each["name"] for each in found}
    first = await request.records.find(
        mailings,
        {"post_id": post["id"], "newsletter": choice.newsletter},
        tenant_id=request.tenant_id,
    )
    number = await request.services.mailings.starting.preview(request.tenant_id, choice.values)
    own = POSTS.url(post["id"])
    can_send = post["status"] == "published" and not first and bool(number)
    labels = {"newsletter": "Newsletter", "subject": "Subject", "labels": "Labels"}
    values = {
        "own": own,
        "address": f"{own}/mail",
        "title": post["title"],
        "choice": choice,
        "labels": ", ".join(choice.labels),
        "newsletters": [(slug, name, slug == choice.newsletter) for slug, name in names.items()],
        "audiences": [(each, label, each == choice.audience) for each, label in AUDIENCES.items()],
        "mark": choice.mark,
        "number": number,
        "sentence": _sentence(post, choice, first, number, names.get(choice.newsletter, "")),
        "first": f"{ADDRESS}/{first[0]['id']}" if first else "",
        "can_send": can_send,
        "me": request.account["email"],
        "stored": where_stored(request.services.settings),
        "problems": {
            name: (labels.get(name, name), sentence_of(each))
            for name, each in (problems or {}).items()
        },
    }
    return Page(
        "mailings/new.html",
        f"Email: {post['title']}",
        values,
        status=422 if problems else 200,
        fragment="mailings/_outcome.html",
    )


def _sentence(
    post: Record, choice: Choice, first: list[Record], number: int, newsletter: str
) -> str:
    if first:
        return f"This post was emailed to {newsletter} already. A post is emailed once."
    if post["status"] != "published":
        return "This post is a draft. Publish it first: then it can be emailed, once."
    if not number:
        return f"Nobody gets it: {newsletter} has no {_WHOM[choice.audience]} of that kind."
    whom = _WHOM[choice.audience] if number != 1 else _WHOM[choice.audience].removesuffix("s")
    return f"“{choice.subject}” is emailed now to {number:,} {whom} of {newsletter}, once."


def _when(request: AdminRequest, mailing: Record) -> str:
    if mailing["status"] == SCHEDULED:
        return f"Begins {request.when(mailing['scheduled_for'])}"
    if mailing["finished_at"]:
        return f"Ended {request.when(mailing['finished_at'])}"
    return f"Began {request.when(mailing['started_at'])}" if mailing["started_at"] else ""
