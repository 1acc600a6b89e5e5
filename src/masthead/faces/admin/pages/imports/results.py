"""The report of an import in words: how many of what, and what was left out and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from masthead.engine.records.collection import Record
from masthead.faces.admin.pages.imports.runs import without_flags
from masthead.faces.importers.collection import PREVIEW
from masthead.faces.importers.report import EDITED, GONE, IN_USE, Report, Tally
from masthead.faces.importers.report import Note as StoredNote

_KINDS = {"post": "Posts", "page": "Pages", "product": "Products"}
_REASONS = {
    "page": "not chosen",
    "product": "not chosen",
    "not selected": "not chosen",
    "unchanged since the last import": "already here",
    "already a member": "already members",
    "on the staff already": "already on the staff",
}
"""The page's words for the engine's reasons."""
_STAYED = {
    EDITED: "edited here since the import",
    IN_USE: "still in use by a comment, a payment or a text",
    GONE: "deleted here before",
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


class UndoneWords(msgspec.Struct, frozen=True):
    removed: str
    stayed: tuple[str, ...]


def lines_of(report: Report, run: Record) -> list[Line]:
    is_preview = run["task"] == PREVIEW
    lines = [_line(label, report.kinds.get(kind, Tally())) for kind, label in _KINDS.items()]
    if not report.kinds and any(report.posts.summary().values()):
        # Of a version that did not count them by kind.
        lines = [_line("Posts and pages", report.posts)]
    lines += [
        _line("Members", report.members),
        _line("Comments", report.comments),
        _line("Authors", report.authors),
        _pictures(report, is_preview=is_preview),
        Line("Tags", report.tags, 0, 0, ""),
        Line("Redirects", report.redirects, 0, 0, _redirects(report)),
    ]
    always = {"Posts", "Members", "Pictures"}
    return [
        each for each in lines if each.new or each.changed or each.left_out or each.label in always
    ]


def _line(label: str, tally: Tally) -> Line:
    counts = tally.summary()
    reasons = [f"{count:,} {_reason(reason)}" for reason, count in _largest(tally.skipped)]
    if counts["failed"]:
        reasons.append(f"{counts['failed']:,} failed")
    left_out = counts["skipped"] + counts["failed"]
    return Line(label, counts["imported"], counts["updated"], left_out, ", ".join(reasons))


def _pictures(report: Report, *, is_preview: bool) -> Line:
    """New are those that are certain: a preview does not ask the old site for the others."""
    images = report.images
    why = []
    if images.to_fetch:
        why.append(f"{images.to_fetch:,} to fetch from the old site, if it still has them")
    if images.failed:
        could = "can’t" if is_preview else "could not"
        why.append(f"{images.failed:,} {could} be fetched: the texts keep their old addresses")
    return Line("Pictures", images.copied, 0, images.failed, "; ".join(why))


def _redirects(report: Report) -> str:
    counts = [f"{count:,} of {kind}" for kind, count in _largest(report.redirect_kinds)]
    return f"Old addresses redirect to the new ones: {', '.join(counts)}" if counts else ""


def _largest(skipped: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(skipped.items(), key=lambda each: -each[1])


def _reason(reason: str) -> str:
    plain = without_flags(reason)
    return _REASONS.get(plain, plain)


def notes_of(stored: Iterable[StoredNote]) -> list[Note]:
    return [
        Note(
            each.title or each.url or f"{each.kind} {each.source_id}".strip(), _reason(each.reason)
        )
        for each in stored
    ]


def undone_of(report: Report) -> UndoneWords:
    undone = report.undone
    stayed = tuple(
        f"{count:,} {_STAYED.get(reason, reason)}" for reason, count in undone.stayed.items()
    )
    return UndoneWords(undone.removed_words(), stayed)
