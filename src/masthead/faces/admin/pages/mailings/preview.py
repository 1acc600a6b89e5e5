"""The email of a post as free and as paid members would get it, light and dark, in the widths of a
phone and of a mail program's window."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from masthead.base.caller import Audience, Reader
from masthead.base.languages.words import words
from masthead.content.texts.editing import Opened, open_text
from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer, Framed, Page
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import POSTS, READERS
from masthead.features.mailings.letter import GMAIL_BYTES, Letter, Recipient, draw_letter
from masthead.features.members.newsletters import newsletters
from masthead.features.posts.site import is_open, reader_of_all
from masthead.features.site.collection import MAIN_NEWSLETTER

_CHOICES: Final = {
    "as": {"free": words("Free member"), "paid": words("Paid member")},
    "width": {"700": "700 px", "375": "375 px"},
    "colours": {"light": words("Light"), "dark": words("Dark")},
}
"""Choices by the name in the address; the first is shown without one."""
_KEPT: Final = ("live", "subject", "visibility")
"""Parameters with the choices of the page that led here."""
_NAMES: Final = {"as": words("Read by"), "width": words("Width"), "colours": words("Colours")}
_DARK: Final = "@media (prefers-color-scheme: dark)"
_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' https: http:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'; "
    "sandbox allow-popups allow-popups-to-escape-sandbox"
)
"""An email has its styles in its elements. Nothing in it can run."""


async def mail_preview(request: AdminRequest, post_id: str) -> Answer:
    """The frame around the email, with the choices in its address."""
    opened = await open_text(request.records, request.caller, POSTS.kind, post_id)
    chosen = _chosen(request)
    own = POSTS.url(post_id)
    newsletter = await _newsletter(request)

    def url(**other: str) -> str:
        kept = {name: request.query[name] for name in _KEPT if request.query.get(name)}
        return urlencode({**kept, **chosen, "newsletter": newsletter["slug"], **other})

    post = _shown(request, opened)
    letter = await _letter(request, post, newsletter, chosen)
    values = {
        "own": own,
        "tabs_of": [
            (
                _NAMES[name],
                [
                    (label, f"{own}/email?{url(**{name: value})}", value == chosen[name], None)
                    for value, label in options.items()
                ],
            )
            for name, options in _CHOICES.items()
        ],
        "page": f"{own}/email/page?{url()}",
        "width": chosen["width"],
        "subject": letter.subject,
        "newsletter": newsletter["name"],
        "sees": _sees(post, chosen["as"]),
        "bytes": letter.html_bytes,
        "most": GMAIL_BYTES,
    }
    return Page(
        "texts/mail.html", words("Email of “%(title)s”", title=opened.values["title"]), values
    )


async def mail_page(request: AdminRequest, post_id: str) -> Answer:
    """The email itself, for the frame."""
    opened = await open_text(request.records, request.caller, POSTS.kind, post_id)
    chosen = _chosen(request)
    letter = await _letter(request, _shown(request, opened), await _newsletter(request), chosen)
    return framed_letter(request, letter, is_dark=chosen["colours"] == "dark")


def framed_letter(request: AdminRequest, letter: Letter, *, is_dark: bool) -> Framed:
    recipient = Recipient(request.account["email"], "", f"{request.site_url}/member/account")
    html = letter.for_recipient(recipient).html
    # As the reader's program would choose, whatever this browser has chosen.
    shown = "@media all" if is_dark else "@media not all"
    html = html.replace(_DARK, shown, 1).replace("<head>", '<head><base target="_blank">', 1)
    return Framed(html.encode(), _POLICY)


def _chosen(request: AdminRequest) -> dict[str, str]:
    given = {name: request.query.get(name, "") for name in _CHOICES}
    return {
        name: given[name] if given[name] in options else next(iter(options))
        for name, options in _CHOICES.items()
    }


async def _newsletter(request: AdminRequest) -> Record:
    slug = request.query.get("newsletter") or MAIN_NEWSLETTER
    return await request.records.require(newsletters, {"slug": slug}, tenant_id=request.tenant_id)


async def _letter(
    request: AdminRequest, post: Record, newsletter: Record, chosen: dict[str, str]
) -> Letter:
    return await draw_letter(
        request.records,
        tenant_id=request.tenant_id,
        site=await request.services.sites.of(request.tenant_id),
        newsletter=newsletter,
        post=post,
        reader=_reader(post, chosen["as"]),
        subject=request.query.get("subject", ""),
    )


def _shown(request: AdminRequest, opened: Opened) -> Record:
    """With the changes that wait, unless it is emailed as it is on the site."""
    post = opened.text if request.query.get("live") else opened.values
    visibility = request.query.get("visibility", "")
    return with_visibility(post, visibility) if visibility in READERS else post


def with_visibility(post: Record, visibility: str) -> Record:
    """As if it had been published so: only a post for paid members has tiers."""
    levels = post["tiers"] if visibility == "paid" else []
    return {**post, "visibility": visibility, "tiers": levels}


def _reader(post: Record, chosen: str) -> Reader:
    return Reader(Audience.FREE) if chosen == "free" else reader_of_all(post)


def _sees(post: Record, reader: str) -> str:
    is_paid = reader != "free"
    if is_open(post, _reader(post, reader)):
        if post["tiers"]:
            return words(
                "A paid member with one of its tiers gets the whole post, others the beginning."
            )
        return (
            words("A paid member gets the whole post.")
            if is_paid
            else words("A free member gets the whole post.")
        )
    return (
        words("A paid member gets the beginning, followed by an invitation to join or upgrade.")
        if is_paid
        else words(
            "A free member gets the beginning, followed by an invitation to join or upgrade."
        )
    )
