"""The email of a digest: the posts that its reader can read. For staff also as it would be now."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final
from urllib.parse import quote

import msgspec

from masthead.base import clock
from masthead.base.caller import STAFF_READER, Caller, Reader
from masthead.base.caller import site as on_the_site
from masthead.base.ids import TenantId
from masthead.base.languages.translators import direction_of, speaking, translator_of
from masthead.base.languages.words import words
from masthead.content.texts.languages import editions_of, root_of
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.engine.records.read.page import ListRequest
from masthead.features.mailings.letter import Counted, Letter, draw_note
from masthead.features.mailings.senders import Senders
from masthead.features.members.digest_times import WEEK
from masthead.features.posts.collection import posts
from masthead.features.posts.site import PUBLISHED_LIST, is_open
from masthead.features.site.address import Site
from masthead.features.site.collection import site_settings
from masthead.outside.mail.outbox import Outbox

MAX_READ: Final = 50
"""The newest posts of a site, among which those of the week are."""
MAX_POSTS: Final = 20
"""In one digest."""
_NAMES: Final = frozenset(
    {
        *("id", "title", "slug", "excerpt", "summary", "featured_image"),
        *("visibility", "tiers", "published_at", "edition", "translations"),
    }
)
MAX_SUBJECT: Final = 255


class DigestLetters(msgspec.Struct, frozen=True):
    records: Records
    outbox: Outbox
    senders: Senders

    async def draw(
        self, tenant_id: TenantId, newsletter: Record, reader: Reader, subject: str = ""
    ) -> Letter | None:
        """With the posts since the last digest, or of a week if there was none. None without any.
        Takes a while."""
        now = self.records.clock()
        since = newsletter["digest_since"] or clock.to_text(now - WEEK)
        site = await self.senders.sites.of(tenant_id)
        return await draw_digest(
            self.records,
            tenant_id=tenant_id,
            site=site,
            newsletter=newsletter,
            reader=reader,
            subject=subject,
            weeks=(since, clock.to_text(now)),
        )

    async def send_test(
        self,
        caller: Caller,
        tenant_id: TenantId,
        newsletter: Record,
        reader: Reader,
        *,
        to: str,
    ) -> bool:
        """To someone of the staff. False if there is nothing to send."""
        language = (await self.senders.sites.of(tenant_id)).language
        subject = f"[Test] {digest_subject(newsletter, language)}"[:MAX_SUBJECT]
        letter = await self.draw(tenant_id, newsletter, reader, subject)
        if letter is None:
            return False
        rendered = await self.senders.copy(tenant_id, newsletter, letter, to)
        async with self.records.unit(caller) as unit:
            unit.refuse_if_read_only()
            await self.outbox.queue_rendered(unit, rendered, "newsletter_test")
        return True


def digest_subject(newsletter: Record, language: str) -> str:
    name = " ".join(newsletter["name"].split())
    with speaking(translator_of(language)):
        return str(words("This week in %(newsletter)s", newsletter=name))


async def draw_digest(
    records: Records,
    *,
    tenant_id: TenantId,
    site: Site,
    newsletter: Record,
    reader: Reader,
    weeks: tuple[str, str],
    subject: str = "",
    edition: str = "",
    counted: Counted | None = None,
) -> Letter | None:
    """`weeks` are their beginning and their end, `edition` is that of the reader's language. None
    if there is nothing for this reader."""
    since, until = weeks
    found = readable(await posts_of_weeks(records, tenant_id, since=since, until=until), reader)
    if not found:
        return None
    own = site.of_edition(edition)
    return await draw_note(
        records,
        tenant_id=tenant_id,
        site=own,
        newsletter=newsletter,
        subject=subject or digest_subject(newsletter, own.language),
        html=_html(_in_language(found, edition, site)[:MAX_POSTS], edition, site),
        is_once=False,
        counted=counted,
    )


async def posts_of_weeks(
    records: Records, tenant_id: TenantId, *, since: str, until: str
) -> list[Record]:
    """The posts on the site that were published then, newest first, whoever may read them."""
    settings = await records.require(site_settings, {}, tenant_id=tenant_id)
    found: list[Record] = []
    for edition in editions_of(settings):
        listing = (PUBLISHED_LIST, edition)
        wanted = ListRequest(per_page=MAX_READ, listing=listing, names=_NAMES, skip_total=True)
        found += (await records.page(on_the_site(tenant_id, STAFF_READER), posts, wanted)).items
    found.sort(key=lambda post: (post["published_at"], post["id"]), reverse=True)
    return [each for each in found[:MAX_READ] if since < each["published_at"] <= until]


def readable(found: Iterable[Record], reader: Reader) -> list[Record]:
    return [each for each in found if is_open(each, reader)]


def _in_language(found: list[Record], edition: str, site: Site) -> list[Record]:
    """Those in the reader's language first. Of a post and its translation that are both there, only
    the one in this language."""
    own = {_path(each) for each in found if each["edition"] == edition}
    shown = [each for each in found if each["edition"] == edition or not own & _others(each, site)]
    return sorted(shown, key=lambda post: post["edition"] != edition)


def _others(post: Record, site: Site) -> set[str]:
    """The paths of its translations."""
    found = msgspec.json.decode(post["translations"] or b"[]")
    return {each["url"].removeprefix(site.url) for each in found or ()}


def _path(post: Record) -> str:
    return f"{root_of(post['edition'])}/posts/{quote(post['slug'])}"


def _html(found: list[Record], edition: str, site: Site) -> str:
    return "".join(_entry(each, edition, site) for each in found)


def _entry(post: Record, edition: str, site: Site) -> str:
    link = f'<a href="{_path(post)}">'
    picture, excerpt = post["featured_image"], post["excerpt"] or post["summary"]
    shown = f'<p>{link}<img src="{escape(picture)}" alt=""></a></p>' if picture else ""
    said = f"<p>{escape(excerpt)}</p>" if excerpt else ""
    entry = f"<h2>{link}{escape(post['title'])}</a></h2>{shown}{said}"
    if post["edition"] == edition:
        return entry
    tag = site.of_edition(post["edition"]).language
    return f'<div lang="{tag}" dir="{direction_of(tag)}">{entry}</div>'
