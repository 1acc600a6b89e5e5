"""Posts, changes and deletes comments on the reader's site.

The caller has read the post through the site's rules: who may not read it can't comment on it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import msgspec

from masthead.base import clock
from masthead.base.caller import Audience, Caller, service_of
from masthead.base.errors import Forbidden, Invalid, NotFound, Problem
from masthead.base.ids import TenantId, is_id
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.engine.records.write.relations import has_dependents
from masthead.engine.records.write.unit import Unit
from masthead.engine.records.write.validation import NewRecord
from masthead.features.comments.collection import APPROVED, DELETED, PENDING, comments
from masthead.features.comments.limits import admit
from masthead.features.comments.rules import waits
from masthead.features.comments.text import clean_name, clean_text, comparable_name, is_links_alone
from masthead.features.site.collection import site_settings
from masthead.features.site.record_view import as_settings
from masthead.identity.limits.windows import Windows
from masthead.identity.tenants import superusers

CHANGEABLE: Final = timedelta(minutes=15)
DELETED_TEXT: Final = "[deleted]"
STAFF_NAMES: Final = 200
"""Accounts whose names a guest can't use."""

NOT_YOURS: Final = words(
    "Only its author can change a comment, for 15 minutes after it was posted."
)
GONE: Final = words("This comment no longer exists.")
_REPEATED: Final = Problem("validation_repeated", words("You have already posted this comment."))
_NO_TEXT: Final = Problem("validation_required", words("Write something first."))
_ONLY_LINKS: Final = Problem(
    "validation_only_links", words("Say something about the link: a comment needs words.")
)
_NO_NAME: Final = Problem("validation_required", words("Enter the name to show with your comment."))
_NO_EMAIL: Final = Problem(
    "validation_required", words("Enter your email address. It is not shown.")
)
_NOT_A_NAME: Final = Problem("validation_invalid_format", words("A name needs letters."))
_STAFF_NAME: Final = Problem(
    "validation_reserved", words("Someone on this site's staff has this name. Choose another one.")
)
_NOT_ANSWERABLE: Final = Problem(
    "validation_missing_rel_records", words("The comment you are replying to no longer exists.")
)


class Author(msgspec.Struct, frozen=True):
    """Who writes on the site."""

    caller: Caller
    """The site, for the author's audience."""
    address: str
    """The client's."""
    name: str = ""
    email: str = ""
    member_id: str = ""
    staff_id: str = ""
    posted: frozenset[str] = frozenset()
    """The comments that this browser has posted."""

    @property
    def tenant_id(self) -> TenantId:
        assert self.caller.tenant_id is not None
        return self.caller.tenant_id

    @property
    def account_id(self) -> str:
        return self.member_id or self.staff_id

    def wrote(self, comment: Record) -> bool:
        """Compares accounts first, so that the next person at the same computer is another one."""
        if comment["member_id"] or comment["staff_id"]:
            mine = (self.member_id, self.staff_id)
            return (comment["member_id"], comment["staff_id"]) == mine
        return comment["id"] in self.posted

    def may_change(self, comment: Record, now: str) -> bool:
        return (
            self.wrote(comment)
            and comment["shown_as"] != DELETED
            and clock.from_text(comment["created"]) + CHANGEABLE > clock.from_text(now)
        )


class Discussions:
    def __init__(self, records: Records, windows: Windows) -> None:
        self._records = records
        self._windows = windows

    async def post(self, author: Author, post: Record, body: str, parent_id: str) -> Record:
        """The new comment, approved or waiting as the site's settings say."""
        given = {
            "post_id": post["id"],
            "parent_id": parent_id,
            "author_name": clean_name(author.name),
            "author_email": author.email,
            "body": clean_text(body),
        }
        new = await self._check(author, given)
        await admit(self._windows, author.tenant_id, author.account_id, author.address)
        async with self._records.unit(author.caller) as unit:
            if parent_id:
                await _check_parent(unit, post, parent_id)
            await _check_repetition(unit, post, new.fields)
            stamped = {"member_id": author.member_id, "staff_id": author.staff_id}
            return await unit.store(comments, new, stamped=stamped)

    async def answer(self, caller: Caller, author: Author, comment_id: str, body: str) -> Record:
        """Staff answers in the admin, with the rights of its account. A comment that was held back
        is approved with it: an answer to what readers don't see would answer nothing."""
        text = clean_text(body)
        if problem := _text_problem(text):
            raise Invalid({"body": problem})
        async with self._records.unit(caller) as unit:
            if not is_id(comment_id):
                raise NotFound(GONE)
            comment = await unit.update(comments, comment_id, {"status": APPROVED})
            if comment["shown_as"] == DELETED:
                raise NotFound(GONE)
            given = {
                "post_id": comment["post_id"],
                "parent_id": comment_id,
                "author_name": clean_name(author.name),
                "body": text,
            }
            return await unit.create(comments, given, stamped={"staff_id": author.staff_id})

    async def edit(self, author: Author, post: Record, comment_id: str, body: str) -> Record:
        """An edited text is treated like a new one: it may have to wait, and never stops to."""
        text = clean_text(body)
        if problem := _text_problem(text):
            raise Invalid({"body": problem})
        await admit(self._windows, author.tenant_id, author.account_id, author.address)
        async with self._records.unit(service_of(author.tenant_id)) as unit:
            comment = await self._changeable(unit, author, post, comment_id)
            status = comment["status"]
            settings = as_settings(unit.tenant.site.settings)
            if status == APPROVED and waits(settings, author.caller.audience, text):
                status = PENDING
            return await unit.update(comments, comment_id, {"body": text, "status": status})

    async def delete(self, author: Author, post: Record, comment_id: str) -> None:
        """A comment that others have answered leaves an empty entry, so that the answers stay."""
        await admit(self._windows, author.tenant_id, author.account_id, author.address)
        async with self._records.unit(service_of(author.tenant_id)) as unit:
            await self._changeable(unit, author, post, comment_id)
            if not await has_dependents(unit, comments, comment_id):
                await unit.delete(comments, comment_id)
                return
            emptied = {
                "author_name": DELETED_TEXT,
                "author_email": "",
                "body": DELETED_TEXT,
                "member_id": "",
                "staff_id": "",
                "shown_as": DELETED,
            }
            await unit.update(comments, comment_id, {}, stamped=emptied)

    async def _check(self, author: Author, given: dict[str, str]) -> NewRecord:
        problems = await self._problems(author, given)
        try:
            new = NewRecord.checked(author.caller, comments, given)
        except Invalid as error:
            raise Invalid({**error.problems, **problems}) from None
        if problems:
            raise Invalid(problems)
        return new

    async def _problems(self, author: Author, given: dict[str, str]) -> dict[str, Problem]:
        problems = {}
        is_guest = author.caller.audience is Audience.GUEST
        if problem := _text_problem(given["body"]):
            problems["body"] = problem
        if given["parent_id"] and not is_id(given["parent_id"]):
            problems["parent_id"] = _NOT_ANSWERABLE
        name = given["author_name"]
        if not name:
            problems["author_name"] = _NO_NAME
        elif not any(map(str.isalpha, name)):
            problems["author_name"] = _NOT_A_NAME
        elif is_guest and await self._is_staff_name(author.tenant_id, name):
            problems["author_name"] = _STAFF_NAME
        if is_guest and not given["author_email"]:
            problems["author_email"] = _NO_EMAIL
        return problems

    async def _is_staff_name(self, tenant_id: TenantId, name: str) -> bool:
        staff = await self._records.find(superusers, {}, tenant_id=tenant_id, limit=STAFF_NAMES)
        site = await self._records.find(site_settings, {}, tenant_id=tenant_id)
        taken = [each["name"] for each in staff] + [each["site_name"] for each in site]
        return comparable_name(name) in {comparable_name(each) for each in taken if each}

    async def _changeable(
        self, unit: Unit, author: Author, post: Record, comment_id: str
    ) -> Record:
        found = await unit.find_one(comments, {"id": comment_id}) if is_id(comment_id) else None
        if not found or found["post_id"] != post["id"]:
            raise NotFound(GONE)
        if not author.may_change(found, clock.to_text(self._records.clock())):
            raise Forbidden(NOT_YOURS)
        return found


def _text_problem(text: str) -> Problem | None:
    if not text:
        return _NO_TEXT
    return _ONLY_LINKS if is_links_alone(text) else None


async def _check_parent(unit: Unit, post: Record, parent_id: str) -> None:
    """Only a comment that readers see can be answered."""
    found = await unit.find_one(comments, {"id": parent_id})
    if (
        found is None
        or found["status"] != APPROVED
        or found["shown_as"] == DELETED
        or found["post_id"] != post["id"]
    ):
        raise Invalid({"parent_id": _NOT_ANSWERABLE})


async def _check_repetition(unit: Unit, post: Record, fields: Record) -> None:
    """A form that was sent twice, or a program's: the same text by the same author."""
    if not fields["author_email"]:
        return
    same = {name: fields[name] for name in ("author_email", "body")}
    if any(each["post_id"] == post["id"] for each in await unit.find(comments, same, limit=100)):
        raise Invalid({"body": _REPEATED})
