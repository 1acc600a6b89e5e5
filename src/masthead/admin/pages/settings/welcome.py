"""The emails that welcome new free and new paid members, with a preview and a test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from masthead.admin.endpoint import Answer, Page, Redirect
from masthead.admin.forms import Ask, given_values, widgets
from masthead.admin.pages.mailings.preview import framed_letter
from masthead.admin.pages.settings.subnav import WELCOME, in_settings, said
from masthead.admin.request import AdminRequest
from masthead.errors import Invalid, NotFound, Problem
from masthead.mail.wording import being_sent, where_stored
from masthead.mailings.welcome_emails import welcome_emails
from masthead.members.welcome import FREE, PAID
from masthead.records.collection import Record

ASKS: Final = (
    Ask("is_on", "Send it", "Members who joined before get none."),
    Ask("subject", "Subject"),
    Ask("text", "Text", "Markdown: **bold**, [a link](https://example.com), - a list.", rows=12),
)
_TABS: Final = {FREE: "Free members", PAID: "Paid members"}
_WHEN: Final = {
    FREE: "Free members get it once, as soon as they have confirmed their address.",
    PAID: "Paid members get it once, when they first pay.",
}
_STARTER: Final = {
    FREE: "Thank you for joining [{site}](/).\n\n"
    "In your [account](/member/account) you choose which newsletters you get.",
    PAID: "Thank you for paying for [{site}](/): you can now read everything.\n\n"
    "You see your tier in your [account](/member/account).",
}


async def welcome_form(request: AdminRequest, kind: str = FREE) -> Answer:
    return _page(request, kind, await _text(request, kind))


async def save_welcome(request: AdminRequest, kind: str) -> Answer:
    """Stores the text, and sends a test of it if that was pressed."""
    record = await _text(request, kind)
    given = given_values(request.caller, welcome_emails, ASKS, request.form)
    try:
        if "id" in record:
            saved = await request.records.update(
                request.caller, welcome_emails, record["id"], given
            )
        else:
            saved = await request.records.create(
                request.caller, welcome_emails, {**given, "kind": kind}
            )
    except Invalid as error:
        return _page(request, kind, record, error.problems)
    address = f"{WELCOME}/{kind}"
    if "test" not in request.form:
        return Redirect(address, f"Saved. {_TABS[kind]} {_state(saved)}.")
    to = request.account["email"]
    await request.services.mailings.welcome.send_test(request.caller, request.tenant_id, to, saved)
    return Redirect(address, f"Saved. {being_sent(request.services.settings, 'A test email', to)}")


async def welcome_email(request: AdminRequest, kind: str) -> Answer:
    """The email itself, for the frame."""
    text = await _text(request, kind)
    welcome = request.services.mailings.welcome
    letter = await welcome.draw(request.tenant_id, text["subject"], text["text"])
    return framed_letter(request, letter, is_dark=False)


async def _text(request: AdminRequest, kind: str) -> Record:
    """As it is stored, or one to begin with."""
    if kind not in _TABS:
        raise NotFound
    found = await request.records.find(welcome_emails, {"kind": kind}, tenant_id=request.tenant_id)
    if found:
        return found[0]
    return {
        "is_on": False,
        "subject": f"Welcome to {request.site_name}"[:255],
        "text": _STARTER[kind].format(site=request.site_name),
    }


def _state(text: Record) -> str:
    return "get it from now on" if text["is_on"] else "don’t get it"


def _page(
    request: AdminRequest, kind: str, record: Record, problems: Mapping[str, Problem] | None = None
) -> Page:
    typed = request.form if problems else None
    values = {
        "tabs_of": [
            (label, f"{WELCOME}/{each}", each == kind, None) for each, label in _TABS.items()
        ],
        "when": _WHEN[kind],
        "fields": widgets(
            request.caller, welcome_emails, ASKS, record, typed=typed, problems=problems
        ),
        "problems": said(problems, ASKS),
        "action": f"{WELCOME}/{kind}",
        "me": request.account["email"],
        "stored": where_stored(request.services.settings),
    }
    status = 422 if problems else 200
    return in_settings(request, "welcome.html", "Welcome emails", values, status=status)
