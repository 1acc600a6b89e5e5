"""The email of a post, drawn once for each audience of a mailing. The few places that differ from
one recipient to the next are placeholders, which `Letter.for_recipient` fills in."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Final
from urllib.parse import quote

from masthead.caller import Audience
from masthead.html.clean_texts import clean_or_plain
from masthead.ids import TenantId
from masthead.posts.site import SITE as POSTS_ON_THE_SITE
from masthead.posts.site import without_paywall
from masthead.records.collection import Record
from masthead.records.engine import Records
from masthead.records.read.plain_text import plain_text
from masthead.site.address import Site
from masthead.site.collection import site_settings

# Random, so that no text of an author can contain one. The process that draws a letter also fills
# it in. Letters and digits only: they mean the same in HTML, in an attribute and in plain text.
_MARK: Final = secrets.token_hex(12)
NAME: Final = f"name{_MARK}"
EMAIL: Final = f"email{_MARK}"
UNSUBSCRIBE_URL: Final = f"unsubscribe{_MARK}"

_MAX_TEXT: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Recipient:
    email: str
    name: str
    unsubscribe_url: str

    @property
    def values(self) -> Mapping[str, str]:
        """By placeholder; not escaped."""
        return {NAME: self.name, EMAIL: self.email, UNSUBSCRIBE_URL: self.unsubscribe_url}


@dataclass(frozen=True, slots=True)
class Letter:
    subject: str
    """Without placeholders."""
    html: str
    text: str

    def for_recipient(self, recipient: Recipient) -> Letter:
        html, text = self.html, self.text
        for placeholder, value in recipient.values.items():
            html = html.replace(placeholder, escape(value))
            text = text.replace(placeholder, value)
        return Letter(self.subject, html, text)


async def draw_letter(
    records: Records,
    *,
    tenant_id: TenantId,
    site: Site,
    newsletter: Record,
    post: Record,
    audience: Audience,
    subject: str = "",
) -> Letter:
    """`post` and `newsletter` are whole records, and the post may be a draft. The letter has what
    this audience may read on the site. Without a `subject` it is the post's title."""
    clean = {**post, "content_html": await clean_or_plain(post["content_html"])}
    shown = POSTS_ON_THE_SITE.show(clean, audience)
    url = f"{site.url}/posts/{quote(post['slug'])}"
    body = without_paywall(shown["content_html"])
    call = "" if shown["is_open"] else "The rest of this story is for members of the site."
    [settings] = await records.find(site_settings, {}, tenant_id=tenant_id)
    footer = f"{newsletter['name']} of {site.name}, sent to {EMAIL}."
    return Letter(
        subject or post["title"],
        f'<!DOCTYPE html><html lang="{escape(settings["language"])}">'
        + _html(post["title"], url, body, call, footer),
        _text(post["title"], url, body, call, footer),
    )


def _html(title: str, url: str, body: str, call: str, footer: str) -> str:
    join = f'<p><a href="{escape(url)}">{escape(call)}</a></p>' if call else ""
    return (
        '<head><meta charset="utf-8">'
        f"<title>{escape(title)}</title></head><body>"
        f'<h1><a href="{escape(url)}">{escape(title)}</a></h1>{body}{join}<hr>'
        f'<p>{escape(footer)} <a href="{UNSUBSCRIBE_URL}">Unsubscribe</a></p></body></html>'
    )


def _text(title: str, url: str, body: str, call: str, footer: str) -> str:
    parts = (title, url, plain_text(body, _MAX_TEXT), call)
    return "\n\n".join((*filter(None, parts), f"-- \n{footer}\nUnsubscribe: {UNSUBSCRIBE_URL}\n"))
