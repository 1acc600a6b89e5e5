"""Emails a published post. A sentence before the button says to whom and when. Staff can send a
test to themselves first."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

import msgspec

from masthead.base.errors import BadRequest, Conflict, Invalid, PlanTooSmall, WrongState
from masthead.base.languages.words import counted, words
from masthead.content.texts.publication import PUBLISHED
from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.environment import number as shown_number
from masthead.faces.admin.forms import problem_of, summary
from masthead.faces.admin.lists import with_query
from masthead.faces.admin.moments import (
    future_moment,
    moment_in_words,
    past_in_words,
    typed_in_words,
)
from masthead.faces.admin.pages.mailings.choosing import (
    FIELD_LABELS,
    MailChoice,
    chosen_mail,
    count_readers,
    form_values,
    mailings_of,
    newsletter_names,
    nobody_in_words,
    readers_in_words,
    try_values,
)
from masthead.faces.admin.pages.mailings.mailing import ADDRESS
from masthead.faces.admin.pages.mailings.preview import with_visibility
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import POSTS, READERS, Section
from masthead.features.mailings.actions import Trial
from masthead.features.mailings.collection import ENDED, FREE, SCHEDULED, may_send, refuse_sending
from masthead.features.posts.collection import posts
from masthead.outside.mail.wording import being_sent, where_stored

NOW, LATER = "now", "later"
AT: Final = "send_at"
"""The field of the time."""
_TIMES: Final = {NOW: words("Now"), LATER: words("At a time")}
_KEPT: Final = (
    "what",
    "publish_on",
    "visibility",
    "to",
    "newsletter",
    "audience",
    "labels",
    "subject",
    "when",
    AT,
)
"""The fields of the two dialogs: a test leaves them as they were."""


class SendingChoice(msgspec.Struct, frozen=True):
    mail: MailChoice
    when: str
    at: str
    """As the field has it, in the site's time zone; empty without a time."""

    @property
    def mark(self) -> str:
        """Identifies the sentence that was shown. If the choice has changed since, the sentence is
        shown again first."""
        return sha256(repr(self).encode()).hexdigest()[:16]


async def mail_link(
    section: Section, request: AdminRequest, text: Record
) -> tuple[str, str] | None:
    """The page that emails a published post, or that of its mailing; None for other texts and for
    accounts that may not."""
    if text["status"] != PUBLISHED or not may_mail(section, request):
        return None
    made = await mailings_of(request, text["id"])
    address = f"{section.url(text['id'])}/mail"
    if not made:
        return address, words("Email it to members…")
    left = set(await newsletter_names(request)) - {each["newsletter"] for each in made}
    if left:
        return address, words("Email it to another newsletter…")
    return f"{ADDRESS}/{made[0]['id']}", words("Its mailing to members")


def may_mail(section: Section, request: AdminRequest) -> bool:
    return section is POSTS and may_send(request.caller, request.site_record)


async def mail_form(request: AdminRequest, post_id: str) -> Answer:
    refuse_sending(request.caller, request.site_record)
    post = await _post(request, post_id)
    return await _page(request, post, _chosen(post, request.form or request.query))


async def mail_post(request: AdminRequest, post_id: str) -> Answer:
    post = await _post(request, post_id)
    choice = _chosen(post, request.form)
    if request.form.get("said") != choice.mark:
        return await mail_form(request, post_id)
    try:
        at = future_moment(request, AT, choice.at) if choice.when == LATER else ""
        made = await begin_mailing(request, post_id, choice.mail, at)
    except (PlanTooSmall, WrongState, Conflict) as error:
        raise Invalid({"newsletter": problem_of(error)}) from error
    said = words("The email is scheduled.") if at else words("Sending has begun.")
    return Redirect(f"{ADDRESS}/{made['id']}", said)


async def begin_mailing(
    request: AdminRequest, post_id: str, choice: MailChoice, at: str = ""
) -> Record:
    """Raises Invalid, WrongState, Conflict or PlanTooSmall."""
    given = {"post_id": post_id, **choice.values, "scheduled_for": at}
    async with request.records.unit(request.caller) as unit:
        return await request.services.mailings.starting.create(unit, given)


async def mail_test(request: AdminRequest, post_id: str) -> Answer:
    post = await _post(request, post_id)
    choice, me = chosen_mail(post, request.form), request.account["email"]
    visibility = request.form.get("visibility", "")
    # Not stored yet, but the letter that is tried is the one that would be sent.
    changes = with_visibility(post, visibility) if visibility in READERS else {}
    trial = Trial(choice.newsletter, choice.audience == FREE, choice.subject, changes)
    letters = request.services.mailings.test_letters
    try:
        # Before the transaction, which must not wait for it.
        drawn = await letters.draw(request.tenant_id, post_id, me, trial)
    except Invalid as error:
        # An operator does not belong to the site's staff.
        raise BadRequest(" ".join(str(each.message) for each in error.problems.values())) from error
    async with request.records.unit(request.caller) as unit:
        await letters.queue(unit, drawn)
    said = being_sent(request.services.settings, words("A test email"), me)
    back = "mail" if post["status"] == PUBLISHED else "publish"
    kept = {name: request.form[name] for name in _KEPT if request.form.get(name)}
    return Redirect(with_query(f"{POSTS.url(post_id)}/{back}", **kept), said)


async def _post(request: AdminRequest, post_id: str) -> Record:
    return await request.records.get(request.caller, posts, post_id)


def _chosen(post: Record, given: Mapping[str, str]) -> SendingChoice:
    when = LATER if given.get("when") == LATER else NOW
    return SendingChoice(chosen_mail(post, given), when, given.get(AT, "") if when == LATER else "")


async def _page(request: AdminRequest, post: Record, choice: SendingChoice) -> Page:
    mail, own = choice.mail, POSTS.url(post["id"])
    names = await newsletter_names(request)
    made = await mailings_of(request, post["id"])
    first = [each for each in made if each["newsletter"] == mail.newsletter]
    is_ready = post["status"] == PUBLISHED and not first and mail.newsletter in names
    number = await count_readers(request, mail) if is_ready else 0
    newsletter = names.get(mail.newsletter, "")
    past = past_in_words(request, choice.at) if is_ready else ""
    values: dict[str, Any] = {
        **form_values(request, post["id"], mail, names),
        **(await try_values(request, post, mail, is_live=True) if is_ready else {"bytes": 0}),
        "own": own,
        "warning": await request.services.mailings.senders.warning(request.tenant_id),
        "address": f"{own}/mail",
        "title": post["title"],
        "times": [(each, label, each == choice.when) for each, label in _TIMES.items()],
        "later": {"name": AT, "value": choice.at, "zone": str(request.time_zone)},
        "mark": choice.mark,
        "number": number,
        "sentence": past
        or _sentence(request, post, choice, first, number=number, newsletter=newsletter),
        "is_past": bool(past),
        "first": f"{ADDRESS}/{first[0]['id']}" if first else "",
        "is_draft": post["status"] != PUBLISHED,
        "act": _button(choice, number) if number else "",
        "problems": summary(request, {**FIELD_LABELS, AT: words("Time")}),
    }
    return Page(
        "mailings/new.html",
        words("Email: %(title)s", title=post["title"]),
        values,
        fragment="mailings/_outcome.html",
    )


def _button(choice: SendingChoice, number: int) -> str:
    shown = {"count": shown_number(number)}
    if choice.when == NOW:
        return counted("Send %(count)s email", "Send %(count)s emails", number, **shown)
    return counted("Schedule %(count)s email", "Schedule %(count)s emails", number, **shown)


def _sentence(
    request: AdminRequest,
    post: Record,
    choice: SendingChoice,
    first: list[Record],
    *,
    number: int,
    newsletter: str,
) -> str:
    if first:
        mailed = mailed_in_words(request, first[0], newsletter)
        once = words("You can email a post only once.")
        return f"{mailed} {once}"
    if post["status"] != PUBLISHED:
        return words("This post is a draft. Publish it first; then you can email it, once.")
    if not number:
        return nobody_in_words(choice.mail, newsletter)
    said = {
        "subject": choice.mail.subject,
        "members": readers_in_words(choice.mail, number, newsletter),
    }
    if choice.when == NOW:
        return words("“%(subject)s” will be emailed now to %(members)s, once.", **said)
    return words(
        "“%(subject)s” will be emailed %(when)s to %(members)s, once. "
        "The list of recipients is made "
        "at that time.",
        **said,
        when=typed_in_words(request, choice.at),
    )


def mailed_in_words(request: AdminRequest, mailing: Record, newsletter: str) -> str:
    """The state of a post's mailing, as a sentence."""
    name = newsletter or mailing["newsletter"]
    if mailing["status"] == SCHEDULED and mailing["scheduled_for"]:
        when = moment_in_words(request, mailing["scheduled_for"])
        return words(
            "It will be emailed to %(name)s %(when)s, or when it is published, if that "
            "is later. You can cancel that on its page.",
            name=name,
            when=when,
        )
    if mailing["status"] not in ENDED:
        return words("It is being emailed to %(name)s.", name=name)
    if mailing["sent"] and where_stored(request.services.settings):
        return words(
            "Its emails to %(sent)s readers of %(name)s were written to files, not sent.",
            sent=shown_number(mailing["sent"]),
            name=name,
        )
    if not mailing["sent"]:
        return words("Its mailing to %(name)s has ended, and nobody got it.", name=name)
    return words(
        "It was emailed to %(sent)s readers of %(name)s.",
        sent=shown_number(mailing["sent"]),
        name=name,
    )
