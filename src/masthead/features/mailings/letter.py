"""The email of a post, drawn once for all readers of a mailing who get the same. The few places
that differ from one recipient to the next are placeholders, which `Letter.for_recipient` fills in.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from html import escape
from typing import Final, Protocol

import msgspec

from masthead.base.caller import Reader
from masthead.base.ids import TenantId
from masthead.base.languages.translators import speaking, translator_of
from masthead.content.html.clean_texts import clean_or_plain
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.features.mailings.letter_values import LetterValues, read_note_values, read_values
from masthead.features.posts.site import SITE as POSTS_ON_THE_SITE
from masthead.features.site.address import Site

# Random, so that no text of an author can contain one. The process that draws a letter also fills
# it in. Letters and digits only: they mean the same in HTML, in an attribute and in plain text.
_MARK: Final = secrets.token_hex(12)
NAME: Final = f"name{_MARK}"
EMAIL: Final = f"email{_MARK}"
UNSUBSCRIBE_URL: Final = f"unsubscribe{_MARK}"
READER: Final = f"reader{_MARK}"
"""The placeholder for the reader, in an email whose opens or clicks are counted."""

GMAIL_BYTES: Final = 102 * 1000
"""Gmail hides what comes after so much HTML behind a link."""


class Recipient(msgspec.Struct, frozen=True):
    email: str
    name: str
    unsubscribe_url: str
    reader: str = ""

    @property
    def values(self) -> Mapping[str, str]:
        """The values by placeholder; not escaped."""
        return {
            NAME: self.name,
            EMAIL: self.email,
            UNSUBSCRIBE_URL: self.unsubscribe_url,
            READER: self.reader,
        }


class Counted(Protocol):
    """How a letter is counted: see `tracking`."""

    @property
    def notice(self) -> str: ...
    def apply(self, html: str) -> str: ...


class Letter(msgspec.Struct, frozen=True):
    subject: str
    """Without placeholders."""
    html: str
    text: str

    @property
    def html_bytes(self) -> int:
        """Compare it with `GMAIL_BYTES`."""
        return len(self.html.encode())

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
    reader: Reader,
    subject: str = "",
    counted: Counted | None = None,
    is_clean: bool = False,
) -> Letter:
    """`post` and `newsletter` are whole records, and the post may be a draft. The letter has what
    this reader may read on the site. Without a `subject` it is the post's title. `is_clean`: the
    text of the post is as readers see it."""
    if not is_clean:
        post = {**post, "content_html": await clean_or_plain(post["content_html"])}
    shown = POSTS_ON_THE_SITE.show(post, reader)
    subject = subject or post["title"]
    site = site.of_edition(post["edition"])
    with speaking(translator_of(site.language)):
        values = await read_values(
            records,
            tenant_id=tenant_id,
            site=site,
            newsletter=newsletter,
            post=shown,
            reader=reader,
        )
        # Inlining the styles of a long text takes longer than the event loop may wait.
        html, text = await asyncio.to_thread(_drawn, subject, values, counted)
    return Letter(subject, html, text)


async def draw_note(
    records: Records,
    *,
    tenant_id: TenantId,
    site: Site,
    newsletter: Record,
    subject: str,
    html: str,
    language: str = "",
    is_once: bool = True,
    counted: Counted | None = None,
) -> Letter:
    """An email that is no post, in the look of the newsletter. With `is_once` its footer says that
    the member gets it because they joined, and not with each newsletter. `language`: the text's, if
    it may be another one than that of the words around it."""
    with speaking(translator_of(site.language)):
        values = await read_note_values(
            records,
            tenant_id=tenant_id,
            site=site,
            newsletter=newsletter,
            title=subject,
            html=await clean_or_plain(html),
            language=language or site.language,
            is_once=is_once,
        )
        drawn, text = await asyncio.to_thread(_drawn, subject, values, counted)
    return Letter(subject, drawn, text)


def _drawn(subject: str, values: LetterValues, counted: Counted | None) -> tuple[str, str]:
    # Imported with the first letter: few commands draw one.
    from masthead.features.mailings.letter_parts import draw_parts

    notice = counted.notice if counted else ""
    html, text = draw_parts(subject, values, to=EMAIL, unsubscribe=UNSUBSCRIBE_URL, notice=notice)
    return counted.apply(html) if counted else html, text
