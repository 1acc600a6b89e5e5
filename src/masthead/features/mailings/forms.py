"""The messages of the mailings that are being sent: each is drawn once by every worker, for all
readers who get the same. A post is in its own language; a digest and the words around a welcome
email are in the language of their reader, and are drawn when the first one of them is claimed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple
from urllib.parse import quote

import msgspec

from masthead.base.caller import Audience, Reader
from masthead.base.languages.words import staff_marked
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.engine.records.fields.base import Access
from masthead.features.mailings.collection import DIGEST, POST, WELCOME, mailings
from masthead.features.mailings.digest_letters import draw_digest, posts_of_weeks
from masthead.features.mailings.letter import Letter, Recipient, draw_letter, draw_note
from masthead.features.mailings.message import MessageForm, message_id
from masthead.features.mailings.queue import Claimed, MailingKey
from masthead.features.mailings.senders import Senders
from masthead.features.mailings.tracking import Tracked, Tracking
from masthead.features.mailings.welcome_emails import welcome_emails, written_html
from masthead.features.members.newsletters import newsletters
from masthead.features.members.unsubscribe import Unsubscribe
from masthead.features.posts.collection import posts
from masthead.features.site.address import Site, Sites
from masthead.outside.mail.message import ComposedMail

NOTHING_TO_READ: Final = staff_marked("not, or no longer, a paid member who could read the posts")
MAX_FORMS: Final = 16
"""Mailings whose messages are kept in memory."""


class _Drawn(msgspec.Struct, frozen=True):
    """The sources of all messages of a mailing."""

    mailing: Record
    newsletter: Record
    site: Site
    tracked: Tracked | None


class FormKey(NamedTuple):
    """The recipients who get the same."""

    edition: str
    """That of their language: see `content/texts/languages.py`. Empty for everyone who gets a
    post."""
    reader: Reader


class Forms(msgspec.Struct, frozen=True):
    drawn: _Drawn
    url_of: Callable[[str], str]
    by_key: dict[FormKey, MessageForm | None]
    """None for those who can read nothing of a digest. In the site's own language they are all
    here; members with a level that is not get the same as those without one."""

    @property
    def is_kept(self) -> bool:
        """Not that of a welcome email, which has no end: the next members get it as it is then."""
        return bool(self.drawn.mailing["kind"] != WELCOME)

    def key_of(self, claimed: Claimed) -> FormKey:
        reader, edition = claimed.reader, ""
        if FormKey("", reader) not in self.by_key:
            reader = Reader(reader.audience)
        if self.drawn.mailing["kind"] != POST:
            edition = self.drawn.site.edition_of({"language": claimed.language})
        return FormKey(edition, reader)

    def compose(self, claimed: Claimed) -> tuple[str, ComposedMail]:
        """The email of one recipient, with its id. Raises ValueError."""
        one_click = self.url_of(claimed.email)
        link = f"{one_click}&newsletter={quote(self.drawn.newsletter['slug'], safe='')}"
        mail_id = message_id(claimed.key.tenant_id, claimed.key.mailing_id, claimed.member_id)
        tracked = self.drawn.tracked
        reader = tracked.reader(claimed.member_id) if tracked else ""
        recipient = Recipient(claimed.email, claimed.name, link, reader)
        form = self.by_key[self.key_of(claimed)]
        if form is None:
            raise ValueError(NOTHING_TO_READ)
        return mail_id, form.compose(recipient, mail_id, one_click)


class FormCache:
    def __init__(
        self,
        records: Records,
        sites: Sites,
        unsubscribing: Unsubscribe,
        senders: Senders,
        *,
        tracking: Tracking,
    ) -> None:
        self._records = records
        self._tracking = tracking
        self._sites = sites
        self._unsubscribing = unsubscribing
        self._senders = senders
        self._forms: OrderedDict[MailingKey, Forms] = OrderedDict()

    async def get(self, key: MailingKey) -> Forms | None:
        """None if there is nothing to send any more, such as a deleted post."""
        forms = self._forms.get(key) or await self._make(key)
        if forms is not None and forms.is_kept:
            self._forms[key] = forms
            self._forms.move_to_end(key)
            if len(self._forms) > MAX_FORMS:
                self._forms.popitem(last=False)
        return forms

    async def add(self, forms: Forms, claimed: Sequence[Claimed]) -> None:
        """Draws what some of them get and nobody has got so far."""
        for key in dict.fromkeys(map(forms.key_of, claimed)):
            if key not in forms.by_key:
                forms.by_key[key] = await self._form(forms.drawn, key)

    def forget(self, key: MailingKey) -> None:
        self._forms.pop(key, None)

    async def _make(self, key: MailingKey) -> Forms | None:
        tenant_id, find = key.tenant_id, self._records.find
        for mailing in await find(mailings, {"id": key.mailing_id}, tenant_id=tenant_id):
            slug = mailing["newsletter"]
            listed = await find(newsletters, {"slug": slug}, tenant_id=tenant_id)
            if not listed:
                return None
            site = await self._sites.of(tenant_id)
            tracked = self._tracking.of(mailing, site.url)
            drawn = _Drawn(mailing, listed[0], site, tracked)
            readers = (
                Reader(Audience.FREE),
                Reader(Audience.PAID),
                *[Reader(Audience.PAID, each) for each in await self._levels(mailing)],
            )
            keys = [FormKey("", each) for each in readers]
            by_key = {each: await self._form(drawn, each) for each in keys}
            if not any(by_key.values()):
                return None
            return Forms(drawn, self._unsubscribing.urls(site.url, tenant_id), by_key)
        return None

    async def _levels(self, mailing: Record) -> list[str]:
        """The levels whose members get more than others."""
        tenant_id = mailing["tenant_id"]
        if mailing["kind"] == DIGEST:
            since, until = mailing["digest_from"], mailing["digest_until"]
            found = await posts_of_weeks(self._records, tenant_id, since=since, until=until)
        else:
            wanted = {"id": mailing["post_id"]}
            found = await self._records.find(posts, wanted, tenant_id=tenant_id)
        return sorted({level for post in found for level in post["tiers"]})

    async def _form(self, drawn: _Drawn, key: FormKey) -> MessageForm | None:
        """None if there is nothing for this reader."""
        draws = {POST: self._draw_post, DIGEST: self._draw_digest, WELCOME: self._draw_welcome}
        mailing = drawn.mailing
        letter = await draws[mailing["kind"]](drawn, key)
        if letter is None:
            return None
        sender = await self._senders.of(mailing["tenant_id"], drawn.newsletter)
        return MessageForm(letter, sender, boundary=mailing["id"], written=self._records.clock())

    async def _draw_post(self, drawn: _Drawn, key: FormKey) -> Letter | None:
        mailing, tenant_id = drawn.mailing, drawn.mailing["tenant_id"]
        found = await self._records.find_one(posts, {"id": mailing["post_id"]}, tenant_id=tenant_id)
        if not found:
            return None
        shown = await self._records.as_read_by(Access.SITE, posts, found)
        return await draw_letter(
            self._records,
            tenant_id=tenant_id,
            site=drawn.site,
            newsletter=drawn.newsletter,
            post={**found, **shown},
            reader=key.reader,
            subject=mailing["subject"],
            counted=drawn.tracked,
            is_clean=True,
        )

    async def _draw_digest(self, drawn: _Drawn, key: FormKey) -> Letter | None:
        mailing = drawn.mailing
        return await draw_digest(
            self._records,
            tenant_id=mailing["tenant_id"],
            site=drawn.site,
            newsletter=drawn.newsletter,
            reader=key.reader,
            subject="" if key.edition else mailing["subject"],
            edition=key.edition,
            weeks=(mailing["digest_from"], mailing["digest_until"]),
            counted=drawn.tracked,
        )

    async def _draw_welcome(self, drawn: _Drawn, key: FormKey) -> Letter | None:
        """The same for everyone of a language: its recipients are of one tier."""
        tenant_id, wanted = drawn.mailing["tenant_id"], {"kind": drawn.mailing["welcome"]}
        for text in await self._records.find(welcome_emails, wanted, tenant_id=tenant_id):
            return await draw_note(
                self._records,
                tenant_id=tenant_id,
                site=drawn.site.of_edition(key.edition),
                newsletter=drawn.newsletter,
                subject=text["subject"],
                html=await written_html(text),
                language=drawn.site.language,
                counted=drawn.tracked,
            )
        return None
