"""The emails that welcome new free and new paid members, with a preview and a test."""

from __future__ import annotations

from html import escape
from typing import Any, Final

import msgspec

from masthead.base.errors import BadRequest, NotFound
from masthead.base.languages.words import words
from masthead.content.texts.content import HTML, JSON
from masthead.content.texts.editing import with_html
from masthead.content.texts.editor_document import opened_document
from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer, Redirect
from masthead.faces.admin.forms import Ask, Form
from masthead.faces.admin.pages.mailings.preview import framed_letter
from masthead.faces.admin.pages.settings.subnav import WELCOME, in_settings
from masthead.faces.admin.request import AdminRequest
from masthead.features.mailings.collection import mailings
from masthead.features.mailings.welcome_emails import welcome_emails, written_html
from masthead.features.members.welcome import FREE, PAID
from masthead.outside.mail.wording import being_sent, where_stored

MAX_FORM: Final = 2 * 1024 * 1024
"""Bytes: of the longest text, as a document and in letters that take several."""
FORM: Final = Form(
    welcome_emails,
    (
        Ask("is_on", words("Send it"), words("Members who joined earlier don’t get one.")),
        Ask("subject", words("Subject")),
        Ask(
            "content_html",
            words("Text"),
            words("Pictures, lists and tables are emailed as in a post."),
            rows=14,
        ),
    ),
)
_TABS: Final = {FREE: words("Free members"), PAID: words("Paid members")}
_WHEN: Final = {
    FREE: words("Free members get it once, as soon as they have confirmed their address."),
    PAID: words("Paid members get it once, when they first pay."),
}
_STARTER: Final = {
    FREE: '<p>Thank you for joining <a href="/">{site}</a>.</p>'
    '<p>In your <a href="/member/account">account</a> you choose which newsletters you get.</p>',
    PAID: '<p>Thank you for paying for <a href="/">{site}</a>: you can now read everything.</p>'
    '<p>You see your tier in your <a href="/member/account">account</a>.</p>',
}


async def save_welcome(request: AdminRequest, kind: str) -> Answer:
    """Stores the text, and sends a test of it if that was pressed."""
    record = await _text(request, kind)
    given = await _read_given(request)
    records, caller = request.records, request.caller
    if "id" in record:
        saved = await records.update(caller, welcome_emails, record["id"], given)
    else:
        saved = await records.create(caller, welcome_emails, {**given, "kind": kind})
    address = f"{WELCOME}/{kind}"
    if "test" not in request.form:
        return Redirect(address, _saved(kind, is_on=saved["is_on"]))
    to = request.account["email"]
    await request.services.mailings.welcome.send_test(request.caller, request.tenant_id, to, saved)
    sent = being_sent(request.services.settings, words("A test email"), to)
    saved_words = words("Saved.")
    return Redirect(address, f"{saved_words} {sent}")


async def welcome_email(request: AdminRequest, kind: str) -> Answer:
    """The email itself, for the frame."""
    text = await _text(request, kind)
    welcome = request.services.mailings.welcome
    letter = await welcome.draw(request.tenant_id, text)
    return framed_letter(request, letter, is_dark=False)


async def _read_given(request: AdminRequest) -> dict[str, Any]:
    """The editor sends its document instead of HTML."""
    given = FORM.given(request)
    sent = request.form.get("content_json", "")
    if not sent:
        return {**given, "content_json": None} if "content_html" in given else given
    given.pop("content_html", None)
    try:
        document = msgspec.json.decode(sent)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        document = None
    if not isinstance(document, dict) or document.get("type") != "doc":
        raise BadRequest(words("The request contains no document."))
    return dict(await with_html({**given, "content_json": document}))


async def _text(request: AdminRequest, kind: str) -> Record:
    """As it is stored, or one to begin with."""
    if kind not in _TABS:
        raise NotFound
    found = await request.records.find(welcome_emails, {"kind": kind}, tenant_id=request.tenant_id)
    for each in found:
        return {**each, "content_html": await written_html(each), "text": ""}
    return {
        "text": "",
        "is_on": False,
        "subject": words("Welcome to %(site_name)s", site_name=request.site_name)[:255],
        "content_html": _STARTER[kind].format(site=escape(request.site_name)),
        "content_json": None,
        "content_source": HTML,
    }


def _saved(kind: str, *, is_on: bool) -> str:
    if kind == FREE:
        return (
            words("Saved. Free members get it from now on.")
            if is_on
            else words("Saved. Free members don’t get it.")
        )
    return (
        words("Saved. Paid members get it from now on.")
        if is_on
        else words("Saved. Paid members don’t get it.")
    )


async def welcome_form(request: AdminRequest, kind: str = FREE) -> Answer:
    record = await _text(request, kind)
    if request.problems:
        record |= await _read_given(request)
        request.form["content_html"] = record["content_html"]
    has_document = bool(request.problems) or record["content_source"] == JSON
    opening = opened_document(record["content_json"]) if has_document else None
    values = {
        "tabs_of": [
            (label, f"{WELCOME}/{each}", each == kind, None) for each, label in _TABS.items()
        ],
        "when": _WHEN[kind],
        "mailing": await _mailing(request, kind),
        **FORM.values(request, record),
        "can_open": opening is None or not opening.lacks,
        "document_json": msgspec.json.encode(opening.document).decode() if opening else "",
        "owner": request.page_owner,
        # On the service's own host the address does not name the site.
        "tenant_id": "" if request.context.tenant else request.tenant_id,
        "action": f"{WELCOME}/{kind}",
        "me": request.account["email"],
        "stored": where_stored(request.services.settings),
    }
    return in_settings(request, "welcome.html", words("Welcome emails"), values)


async def _mailing(request: AdminRequest, kind: str) -> dict[str, Any] | None:
    """Whom it was sent to, once there is someone."""
    found = await request.records.find(mailings, {"welcome": kind}, tenant_id=request.tenant_id)
    for each in found:
        return {"recipients": each["recipients"], "url": f"/admin/mailings/{each['id']}"}
    return None
