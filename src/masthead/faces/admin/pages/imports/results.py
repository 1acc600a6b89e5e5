"""The report of an import in words: how many of what, and what was left out and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from masthead.base.languages.formats import listed
from masthead.base.languages.retelling import retold
from masthead.base.languages.words import both_numbers, counted, marked, words
from masthead.engine.records.collection import Record
from masthead.faces.admin.environment import number
from masthead.faces.admin.pages.imports.runs import without_flags
from masthead.faces.importers.collection import PREVIEW
from masthead.faces.importers.report import EDITED, GONE, IN_USE, Report, Tally
from masthead.faces.importers.report import Note as StoredNote

SHOWN_NOTES = 100
"""So many of each kind; a report has 500. Only these are looked up among the messages."""
_KINDS = {"post": words("Posts"), "page": words("Pages"), "product": words("Products")}
_REASONS = {
    "page": words("not chosen"),
    "product": words("not chosen"),
    "not selected": words("not chosen"),
    "unchanged since the last import": words("already here"),
    "already a member": words("already members"),
    "on the staff already": words("already on the staff"),
    "scheduled": words("scheduled"),
    "private": words("private"),
    "pending review": words("pending review"),
    "trashed": words("trashed"),
    "auto draft": words("saved automatically"),
    "other status": words("with another status"),
    "unknown status": words("with another status"),
    "other type of content": words("of another type"),
    "product variation": words("variations of products"),
    "order": words("orders"),
    "coupon": words("coupons"),
    "password protected": words("protected by a password"),
    "too long": words("too long"),
    "empty": words("empty"),
    "without an id": words("without an id"),
    "pingback, trackback or other automatic comment": words("automatic comments"),
}
"""The page's words for the engine's reasons."""
_REDIRECTED = {
    "posts": marked("%(number)s of posts"),
    "pages": marked("%(number)s of pages"),
    "feeds": marked("%(number)s of feeds"),
    "archives": marked("%(number)s of archives"),
    "tags": marked("%(number)s of tags"),
    "authors": marked("%(number)s of authors"),
    "pictures": marked("%(number)s of pictures"),
}
"""Old addresses by the kind of what was there."""
_REMOVED = {
    "comments": both_numbers("%(number)s comment", "%(number)s comments"),
    "posts": both_numbers("%(number)s post", "%(number)s posts"),
    "pages": both_numbers("%(number)s page", "%(number)s pages"),
    "products": both_numbers("%(number)s product", "%(number)s products"),
    "blog_members": both_numbers("%(number)s member", "%(number)s members"),
    "_superusers": both_numbers("%(number)s author", "%(number)s authors"),
    "media": both_numbers("%(number)s file", "%(number)s files"),
    "redirects": both_numbers("%(number)s redirect", "%(number)s redirects"),
}
_STAYED = {
    EDITED: words("edited here since the import"),
    IN_USE: words("still in use by a comment, a payment or a text"),
    GONE: words("deleted here before"),
}


class Line(msgspec.Struct, frozen=True):
    """A row of the table."""

    label: str
    new: int
    changed: int
    left_out: int
    why: str


class Note(msgspec.Struct, frozen=True):
    title: str
    reason: str


class Notes(msgspec.Struct, frozen=True):
    number: int = 0
    first: Sequence[Note] = ()


class UndoneWords(msgspec.Struct, frozen=True):
    removed: str
    stayed: tuple[str, ...]


def lines_of(report: Report, run: Record) -> list[Line]:
    is_preview = run["task"] == PREVIEW
    lines = [_line(label, report.kinds.get(kind, Tally())) for kind, label in _KINDS.items()]
    if not report.kinds and any(report.posts.summary().values()):
        # Of a version that did not count them by kind.
        lines = [_line(words("Posts and pages"), report.posts)]
    lines += [
        _line(words("Members"), report.members),
        _line(words("Comments"), report.comments),
        _line(words("Authors"), report.authors),
        _pictures(report, is_preview=is_preview),
        Line(words("Tags"), report.tags, 0, 0, ""),
        Line(words("Redirects"), report.redirects, 0, 0, _redirects(report)),
    ]
    always = {words("Posts"), words("Members"), words("Pictures")}
    return [
        each for each in lines if each.new or each.changed or each.left_out or each.label in always
    ]


def _line(label: str, tally: Tally) -> Line:
    counts = tally.summary()
    reasons = [f"{number(count)} {_reason(reason)}" for reason, count in _largest(tally.skipped)]
    if counts["failed"]:
        reasons.append(str(words("%(number)s failed", number=number(counts["failed"]))))
    left_out = counts["skipped"] + counts["failed"]
    return Line(
        label, counts["imported"], counts["updated"], left_out, ", ".join(map(str, reasons))
    )


def _pictures(report: Report, *, is_preview: bool) -> Line:
    """New are those that are certain: a preview does not ask the old site for the others."""
    images = report.images
    why = []
    if images.to_fetch:
        why.append(
            words(
                "%(number)s to fetch from the old site, if it still has them",
                number=number(images.to_fetch),
            )
        )
    if images.failed:
        failed = number(images.failed)
        why.append(
            words("%(number)s can’t be fetched: the texts keep their old addresses", number=failed)
            if is_preview
            else words(
                "%(number)s could not be fetched: the texts keep their old addresses", number=failed
            )
        )
    return Line(words("Pictures"), images.copied, 0, images.failed, "; ".join(map(str, why)))


def _redirects(report: Report) -> str:
    counts = [
        str(words(_REDIRECTED.get(kind, "%(number)s"), number=number(count)))
        for kind, count in _largest(report.redirect_kinds)
    ]
    if not counts:
        return ""
    return words("Old addresses redirect to the new ones: %(counts)s", counts=listed(counts))


def _largest(skipped: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(skipped.items(), key=lambda each: -each[1])


def _reason(reason: str) -> str:
    return _REASONS.get(without_flags(reason)) or without_flags(retold(reason))


def notes_of(stored: Sequence[StoredNote]) -> Notes:
    first = [
        Note(
            each.title or each.url or f"{each.kind} {each.source_id}".strip(), _reason(each.reason)
        )
        for each in stored[:SHOWN_NOTES]
    ]
    return Notes(len(stored), first)


def undone_of(report: Report) -> UndoneWords:
    undone = report.undone
    stayed = tuple(
        f"{number(count)} {_STAYED.get(reason, reason)}" for reason, count in undone.stayed.items()
    )
    removed = [
        str(counted(*texts, count, number=number(count)))
        for name, texts in _REMOVED.items()
        if (count := undone.removed.get(name, 0))
    ]
    return UndoneWords(listed(removed) or words("nothing"), stayed)
