"""Posts on the reader's site: which have a place there, in which lists, and how much of them a
reader gets. Pages, feeds, search and cached answers all read through these rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from masthead.base.caller import Audience, Reader
from masthead.base.errors import Invalid, Problem
from masthead.content.texts.publication import PUBLISHED
from masthead.engine.links.file_readers import Part
from masthead.engine.records.changes import Listing, Save
from masthead.engine.records.collection import Listings, Record, SiteRules
from masthead.engine.records.fields.base import Access
from masthead.engine.records.fields.relation import OnDelete
from masthead.engine.records.fields.relation_list import RelationList
from masthead.engine.records.fields.text import Text
from masthead.engine.records.fields.values import Flag, Number
from masthead.engine.records.read.plain_text import plain_text
from masthead.engine.records.write.slugs import slugify

SCHEDULED_LIST, READY_LIST = "scheduled", "ready for review"
DRAFT_TAG_LIST, DRAFT_AUTHOR_LIST = "draft tags", "draft authors"
PUBLISHED_LIST, TAG_LIST, AUTHOR_LIST = "published", "published tags", "published authors"

SUMMARY_LENGTH: Final = 300
_SUMMARY_SOURCE: Final = 20_000
"""Characters of HTML that are searched for the beginning of the text."""
_CHARACTERS_A_MINUTE: Final = 1_300
_COUNTED_AT_ONCE: Final = 200_000
"""Longer texts are measured by their beginning, so that a save takes no longer for them."""

# What editors write by hand, what Ghost and WordPress leave, and our editor's own.
_PAYWALL: Final = re.compile(
    r"<hr\b[^<>]{0,200}\bclass=[\"']?paywall\b[^<>]{0,200}>|"
    r"<!--\s{0,20}(?:more|members-only)[^<>]{0,200}-->",
    re.IGNORECASE,
)
# Up to the next sign: otherwise a run of `<` would be read to its end for each of them.
_TAG: Final = re.compile(r"<[^<>]*+>")

SUMMARY = Text(
    name="summary",
    max=SUMMARY_LENGTH + 1,
    read=Access.SITE,
    write=Access.ENGINE,
    help="The beginning of the part that everyone can read, for lists without an excerpt.",
)
READING_MINUTES = Number(
    name="reading_minutes",
    read=Access.SITE,
    write=Access.ENGINE,
    help="How long reading the post takes.",
)

TIERS = RelationList(
    name="tiers",
    to="tiers",
    on_delete=OnDelete.REFUSE,
    read=Access.SITE,
    help="The tiers whose members read the post. Only with the visibility `paid`; if empty, all "
    "paid members do.",
)

EMAIL_ONLY = Flag(
    name="email_only",
    read=Access.CONTRIBUTOR,
    help="Published and sent by email, without a page on the site and in none of its lists.",
)

_NOT_PAID: Final = Problem(
    "validation_not_settable",
    "Only a post for paid members has tiers: empty the list, or set `visibility` to paid.",
)
_NEEDS: Final = {
    "public": Audience.GUEST,
    "members": Audience.FREE,
    "paid": Audience.PAID,
}


def check_tiers(save: Save) -> None:
    if save.new["tiers"] and save.new["visibility"] != "paid":
        raise Invalid({"tiers": _NOT_PAID})


def summarized(save: Save) -> Mapping[str, Any]:
    """The summary of a text for lists, made when the text is saved."""
    old, new = save.old, save.new
    if old and all(old[name] == new[name] for name in ("content_html", "visibility")):
        return {}
    return lists_show(new)


def lists_show(post: Record) -> dict[str, Any]:
    html = post["content_html"]
    return {"summary": _summary(html, post["visibility"]), "reading_minutes": reading_minutes(html)}


def _summary(html: str, visibility: str) -> str:
    shown = html if visibility == "public" else before_paywall(html)
    text = plain_text(shown[:_SUMMARY_SOURCE], SUMMARY_LENGTH)
    if len(text) <= SUMMARY_LENGTH:
        return text
    beginning = text[:SUMMARY_LENGTH]
    # Some languages have no blanks between words.
    return (beginning.rpartition(" ")[0] or beginning).rstrip(".,;:–- ") + "…"


def reading_minutes(html: str) -> int:
    if not html:
        return 0
    counted = html[:_COUNTED_AT_ONCE]
    characters = len(_TAG.sub("", counted)) * len(html) / len(counted)
    return max(1, round(characters / _CHARACTERS_A_MINUTE))


def before_paywall(html: str) -> str:
    """The part of a gated post that everyone may read: nothing where it has no paywall."""
    marker = _PAYWALL.search(html)
    return html[: marker.start()] if marker else ""


def shown_parts(post: Record) -> Iterator[Part]:
    """For files: who may read what of a post on the site. Its picture and its opening are in lists
    and feeds, so they are everyone's."""
    if post["status"] != PUBLISHED or post["email_only"]:
        return
    html, since = post["content_html"], post["published_at"]
    needed = _NEEDS[post["visibility"]]
    opening = html if needed is Audience.GUEST else before_paywall(html)
    yield Part((post["featured_image"], opening), Audience.GUEST, since)
    if needed is not Audience.GUEST:
        yield Part((html,), needed, since, tuple(post["tiers"]))


def without_paywall(html: str) -> str:
    return _PAYWALL.sub("", html)


@lru_cache(maxsize=1_000)
def tag_slug(tag: str) -> str:
    return slugify(tag)


def listings(post: Record) -> Iterator[Listing]:
    """In order of publication: all posts, those of a tag, and those of an author. Drafts that wait
    for their time, in that order; those that are ready for review, by when they became so; and
    drafts of a tag or an author, which may have many more posts. The lists of published posts are
    those of the site."""
    if post["status"] != PUBLISHED:
        if post["scheduled_for"]:
            yield Listing(SCHEDULED_LIST, "", post["scheduled_for"])
        elif post["review"]:
            yield Listing(READY_LIST, "", post["review_at"])
        for tag in post["tags"]:
            yield Listing(DRAFT_TAG_LIST, tag, post["created"])
        for author in post["authors"]:
            yield Listing(DRAFT_AUTHOR_LIST, author, post["created"])
        return
    if post["email_only"]:
        return
    at, edition = post["published_at"], post["edition"]
    yield Listing(PUBLISHED_LIST, edition, at)
    for tag in post["tags"]:
        yield Listing(*of_edition((TAG_LIST, tag_slug(tag)), edition), at)
    # A post without authors is the site owner's.
    for author in post["authors"] or [""]:
        yield Listing(*of_edition((AUTHOR_LIST, author), edition), at)


def of_edition(listing: tuple[str, str], edition: str) -> tuple[str, str]:
    """The part of a list of published posts that is in one of the site's languages."""
    name, value = listing
    if name == PUBLISHED_LIST:
        return name, edition
    # Neither slugs nor ids have a slash.
    return name, f"{edition}/{value}" if edition else value


LISTINGS: Final = Listings(
    by=(
        *("status", "scheduled_for", "review", "review_at", "published_at"),
        *("tags", "authors", "email_only", "edition"),
    ),
    of=listings,
)


def is_open(post: Record, reader: Reader) -> bool:
    """Whether the reader may read all of it: the one place that decides it."""
    if reader.audience is Audience.STAFF:
        return True
    if reader.audience < _NEEDS.get(post["visibility"], Audience.STAFF):
        return False
    return not post["tiers"] or reader.level in post["tiers"]


def reader_of_all(post: Record) -> Reader:
    """A paid member who may read all of it."""
    return Reader(Audience.PAID, *post["tiers"][:1])


def _shown(post: Record, reader: Reader) -> Record:
    if is_open(post, reader):
        return {**post, "is_open": True}
    shown = {**post, "is_open": False}
    if "content_html" in shown:
        shown["content_html"] = before_paywall(shown["content_html"])
    return shown


def _searched(reader: Reader) -> str:
    """As `is_open`, in the query."""
    if reader.audience is Audience.STAFF:
        return ""
    closed = [name for name, needed in _NEEDS.items() if reader.audience < needed]
    conditions = [f"visibility != '{name}'" for name in closed]
    if reader.audience is Audience.PAID:
        has_level = f" || tiers ?= '{reader.level}'" if reader.level else ""
        conditions.append(f"(tiers = '[]'{has_level})")
    return " && ".join(conditions)


SITE = SiteRules(
    read="status = 'published' && published_at != '' && published_at <= @now && email_only = false",
    fields=(
        "title",
        "slug",
        "content_html",
        "excerpt",
        "summary",
        "reading_minutes",
        "visibility",
        "tiers",
        "published_at",
        "tags",
        "authors",
        "featured_image",
        "seo_title",
        "seo_description",
        "translations",
        "language",
        "edition",
        "created",
        "updated",
    ),
    show=_shown,
    searched=_searched,
)
