"""The choices for the email of a post: the newsletter, who gets it, and the subject. The dialog
before publishing and the page that emails a published post share them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from masthead.base.caller import Audience, Reader
from masthead.base.errors import Invalid, PlanTooSmall, Problem
from masthead.base.languages.formats import listed
from masthead.base.languages.words import both_numbers, counted, words
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.base import FieldError
from masthead.engine.records.read.page import ListRequest
from masthead.faces.admin.environment import number
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import POSTS
from masthead.features.mailings.audience import whose_language
from masthead.features.mailings.collection import EVERYONE, FREE, PAID, has_reached_nobody, mailings
from masthead.features.mailings.letter import GMAIL_BYTES, draw_letter
from masthead.features.mailings.starting import NO_NEWSLETTER, NO_READERS
from masthead.features.members.newsletters import newsletters
from masthead.features.posts.site import reader_of_all
from masthead.features.site.collection import MAIN_NEWSLETTER
from masthead.outside.mail.wording import where_stored

MOST: Final = 50
"""Newsletters to choose from."""
AUDIENCES: Final = {
    EVERYONE: words("All"),
    FREE: words("Free members"),
    PAID: words("Paid members"),
}
AUDIENCE_WORDS: Final = {
    EVERYONE: words("members"),
    FREE: words("free members"),
    PAID: words("paid members"),
}
_COUNTED: Final = {
    EVERYONE: both_numbers(
        "%(count)s member of %(newsletter)s", "%(count)s members of %(newsletter)s"
    ),
    FREE: both_numbers(
        "%(count)s free member of %(newsletter)s", "%(count)s free members of %(newsletter)s"
    ),
    PAID: both_numbers(
        "%(count)s paid member of %(newsletter)s", "%(count)s paid members of %(newsletter)s"
    ),
}
_NOBODY: Final = {
    EVERYONE: words("Nobody would get it: the newsletter has no members."),
    FREE: words("Nobody would get it: the newsletter has no free members."),
    PAID: words("Nobody would get it: the newsletter has no paid members."),
}
FIELD_LABELS: Final = {
    "newsletter": words("Newsletter"),
    "audience": words("Who gets it"),
    "labels": words("Labels"),
    "subject": words("Subject"),
}


class MailChoice(msgspec.Struct, frozen=True):
    newsletter: str
    audience: str
    labels: tuple[str, ...]
    subject: str
    edition: str = ""
    """The post's: see `content/texts/languages.py`."""

    @property
    def values(self) -> dict[str, Any]:
        return {
            "newsletter": self.newsletter,
            "audience": self.audience,
            "labels": list(self.labels),
            "subject": self.subject,
        }

    def reader_of(self, post: Record) -> Reader:
        """Whose letter is the longest."""
        return Reader(Audience.FREE) if self.audience == FREE else reader_of_all(post)


def chosen_mail(post: Record, given: Mapping[str, str]) -> MailChoice:
    audience = given.get("audience", "")
    labels = (each.strip() for each in given.get("labels", "").split(","))
    return MailChoice(
        given.get("newsletter") or MAIN_NEWSLETTER,
        audience if audience in AUDIENCES else EVERYONE,
        tuple(dict.fromkeys(each for each in labels if each)),
        given.get("subject", "").strip() or post["title"],
        post["edition"],
    )


async def newsletter_names(request: AdminRequest) -> dict[str, str]:
    """The names by slug, the oldest first."""
    wanted = ListRequest(per_page=MOST, sort="created", skip_total=True)
    found = await request.records.page(request.caller, newsletters, wanted)
    return {each["slug"]: each["name"] for each in found.items}


async def mailings_of(request: AdminRequest, post_id: str) -> list[Record]:
    """Without those that ended before anyone got them: they can be sent anew."""
    found = await request.records.find(
        mailings, {"post_id": post_id}, tenant_id=request.tenant_id, limit=MOST
    )
    return [each for each in found if not has_reached_nobody(each)]


async def count_readers(request: AdminRequest, choice: MailChoice) -> int:
    reach = whose_language({"edition": choice.edition}, request.site_record)
    wanted = {**choice.values, **reach}
    return await request.services.mailings.starting.preview(request.tenant_id, wanted)


async def check_mail(request: AdminRequest, choice: MailChoice) -> None:
    """Finds what would refuse the mailing, before anything happens. Raises Invalid."""
    problems = {}
    for name in ("subject", "labels"):
        try:
            mailings.by_name[name].check(choice.values[name])
        except FieldError as error:
            problems[name] = error.problem
    if choice.newsletter not in await newsletter_names(request):
        problems["newsletter"] = NO_NEWSLETTER
    if problems:
        raise Invalid(problems)
    number = await count_readers(request, choice)
    if not number:
        raise Invalid({"audience": NO_READERS})
    async with request.records.unit(request.caller) as unit:
        quota = await request.services.mailings.starting.quota(unit)
    try:
        quota.check(number)
    except PlanTooSmall as error:
        raise Invalid({"audience": Problem("plan_too_small", str(error))}) from error


def form_values(
    request: AdminRequest, post_id: str, choice: MailChoice, names: Mapping[str, str]
) -> dict[str, Any]:
    """For `mailings/_choices.html`."""
    return {
        "newsletters": [(slug, name, slug == choice.newsletter) for slug, name in names.items()],
        "audiences": [(each, label, each == choice.audience) for each, label in AUDIENCES.items()],
        "labels": ", ".join(choice.labels),
        "subject": choice.subject,
        "test": f"{POSTS.url(post_id)}/mail/test",
        "me": request.account["email"],
        "stored": where_stored(request.services.settings),
    }


async def try_values(
    request: AdminRequest, post: Record, choice: MailChoice, *, is_live: bool
) -> dict[str, Any]:
    """For `mailings/_try.html`: the preview, and what Gmail makes of the email's size."""
    reader = "free" if choice.audience == FREE else "paid"
    query = {"newsletter": choice.newsletter, "subject": choice.subject, "as": reader}
    # A draft may get other readers with its publication.
    query |= {"live": "1"} if is_live else {"visibility": post["visibility"]}
    return {
        "preview": f"{POSTS.url(post['id'])}/email?{urlencode(query)}",
        "bytes": await _letter_bytes(request, post, choice),
        "most_bytes": GMAIL_BYTES,
    }


async def _letter_bytes(request: AdminRequest, post: Record, choice: MailChoice) -> int:
    found = await request.records.find_one(
        newsletters, {"slug": choice.newsletter}, tenant_id=request.tenant_id
    )
    if not found:
        return 0
    letter = await draw_letter(
        request.records,
        tenant_id=request.tenant_id,
        site=await request.services.sites.of(request.tenant_id),
        newsletter=found,
        post=post,
        reader=choice.reader_of(post),
        subject=choice.subject,
    )
    return letter.html_bytes


def readers_in_words(choice: MailChoice, count: int, newsletter: str) -> str:
    one, many = _COUNTED[choice.audience]
    whom = counted(one, many, count, count=number(count), newsletter=newsletter)
    return with_labels(whom, choice.labels)


def with_labels(whom: str, labels: Sequence[str]) -> str:
    if not labels:
        return whom
    return words("%(members)s with the label %(labels)s", members=whom, labels=listed(labels, "or"))


def nobody_in_words(choice: MailChoice, newsletter: str) -> str:
    if not newsletter:
        return words("Nobody would get it: the site has no such newsletter.")
    if choice.labels:
        return words("Nobody would get it: the newsletter has no such members with such a label.")
    return _NOBODY[choice.audience]
