"""Emails about comments, queued in the transaction of the change.

A post's authors hear of each new comment, and members and staff of each reply to their own. Guests
get none, because their addresses are not confirmed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from masthead.base.config.settings import Settings
from masthead.content.texts.languages import root_of
from masthead.content.texts.publication import PUBLISHED
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.write.unit import Unit
from masthead.engine.records.write.unit_events import WrittenEvent
from masthead.features.comments.collection import APPROVED, PENDING, comments
from masthead.features.comments.mail_links import CommentMailLinks, Recipient
from masthead.features.members.collection import blog_members, reader_of_member
from masthead.features.posts.collection import posts
from masthead.features.posts.site import is_open
from masthead.features.site.address import Site, site_in
from masthead.identity.owners import owner_in
from masthead.identity.tenants import Role, superusers
from masthead.outside.mail.emails import write_email
from masthead.outside.mail.outbox import Outbox

POSTED, RECEIVED = "comment.posted", "comment.received"
QUOTED: Final = 1_000
"""Characters of a comment that an email quotes."""


class CommentEmails:
    """A subscriber of the engine. Imports write no events, so they cause no emails about old
    comments."""

    events: Final = frozenset({POSTED, RECEIVED})

    def __init__(self, outbox: Outbox, links: CommentMailLinks, settings: Settings) -> None:
        self._outbox = outbox
        self._links = links
        self._settings = settings

    async def __call__(self, unit: Unit, written: Sequence[WrittenEvent]) -> bool:
        for event in written:
            if event.is_restored:
                continue
            if event.name == POSTED:
                await self._mail_posted(unit, event.record_id)
            elif event.name == RECEIVED:
                await self._mail_answer(unit, event.record_id)
        return False

    async def _mail_posted(self, unit: Unit, comment_id: str) -> None:
        found = await _comment_and_post(unit, comment_id)
        if found is None or found[0]["status"] not in (APPROVED, PENDING):
            return
        comment, post = found
        site, is_waiting = await site_in(unit, self._settings), _is_waiting(comment)
        for account in await _readers_of_post(unit, post, is_waiting=is_waiting):
            to, link = Recipient(superusers.name, account["id"]), ""
            if is_waiting and _may_approve(account):
                link = self._links.approve(site.url, unit.tenant_id, to, comment_id)
            own = {"approve_link": link, "is_waiting": is_waiting}
            values = {**_values(site, comment, post), **own}
            await self._queue(unit, "comment_posted", site, account, to=to, values=values)

    async def _mail_answer(self, unit: Unit, comment_id: str) -> None:
        found = await _comment_and_post(unit, comment_id)
        if found is None or not found[0]["parent_id"]:
            return
        comment, post = found
        parent = await unit.find_one(comments, {"id": comment["parent_id"]})
        if not parent:
            return
        answered = await _account_of(unit, parent)
        if answered is None:
            return
        collection, account = answered
        if collection is blog_members and not _may_read(account, post):
            return
        # They know of it already as an author of the post.
        known = await _readers_of_post(unit, post, is_waiting=False)
        if collection is superusers and any(each["id"] == account["id"] for each in known):
            return
        site, to = await site_in(unit, self._settings), Recipient(collection.name, account["id"])
        values = {**_values(site, comment, post), "own": _quoted(parent)}
        await self._queue(unit, "comment_answered", site, account, to=to, values=values)

    async def _queue(
        self,
        unit: Unit,
        template: str,
        site: Site,
        account: Record,
        *,
        to: Recipient,
        values: dict[str, Any],
    ) -> None:
        if account["comment_mails_off"] or account["id"] in values["written_by"]:
            return
        off = self._links.off(site.url, unit.tenant_id, to)
        names = {"name": account["name"], "unsubscribe_url": off}
        is_staff = to.collection == superusers.name
        own = site.for_staff(account) if is_staff else site.for_member(account)
        await self._outbox.queue(
            unit,
            write_email(template, own, account["email"], **names, **values),
        )


def _values(site: Site, comment: Record, post: Record) -> dict[str, Any]:
    return {
        "author": comment["author_name"],
        "text": _quoted(comment),
        "title": post["title"],
        "short_title": _short(post["title"]),
        "link": comment_url(site.url, post, comment),
        "written_by": (comment["member_id"], comment["staff_id"]),
    }


def comment_url(site_url: str, post: Record, comment: Record) -> str:
    """The address of the comment's thread, which works anywhere in a long discussion."""
    thread = comment["thread_id"] or comment["id"]
    path = f"{root_of(post['edition'])}/posts/{quote(post['slug'])}"
    return f"{site_url}{path}?thread={thread}#comment-{comment['id']}"


async def _comment_and_post(unit: Unit, comment_id: str) -> tuple[Record, Record] | None:
    found = await unit.find_one(comments, {"id": comment_id})
    if not found:
        return None
    [post] = await unit.find(posts, {"id": found["post_id"]}, limit=1)
    return found, post


async def _readers_of_post(unit: Unit, post: Record, *, is_waiting: bool) -> list[Record]:
    """The post's authors who can sign in, or the site's owner; a comment that waits needs one who
    may approve it."""
    accounts = [
        account
        for each in post["authors"]
        for account in await unit.find(superusers, {"id": each}, limit=1)
        if account["password_hash"]
    ]
    if accounts and not (is_waiting and not any(map(_may_approve, accounts))):
        return accounts
    owner = await owner_in(unit)
    return [*accounts, owner] if owner else accounts


async def _account_of(unit: Unit, comment: Record) -> tuple[Collection, Record] | None:
    for collection, name in ((blog_members, "member_id"), (superusers, "staff_id")):
        if comment[name]:
            found = await unit.find_one(collection, {"id": comment[name]})
            return (collection, found) if found else None
    return None


def _may_approve(account: Record) -> bool:
    return account["role"] in (Role.OWNER, Role.EDITOR)


def _is_waiting(comment: Record) -> bool:
    return bool(comment["status"] == PENDING)


def _quoted(comment: Record) -> str:
    return _short(comment["body"], QUOTED)


def _short(text: str, length: int = 80) -> str:
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


def _may_read(member: Record, post: Record) -> bool:
    """Now, not when they commented: a paid tier may have ended, or the post been closed."""
    has_page = post["status"] == PUBLISHED and not post["email_only"]
    return has_page and is_open(post, reader_of_member(member))
