"""The comments of a Ghost site, where the export has them, each after the one it answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal

from masthead.base.email_address import is_email, normal_email
from masthead.base.languages.words import staff_marked, staff_words
from masthead.faces.importers.convert.plain_texts import (
    CUT,
    MAX_BODY,
    MAX_NAME,
    NAMELESS,
    comment_text,
    cut,
)
from masthead.faces.importers.dates import utc_text
from masthead.faces.importers.platforms.ghost.links import key, text
from masthead.faces.importers.source import BadFile, Skipped, SourceComment, post_key

MAX_WAITING: Final = 20_000
"""Answers that come before what they answer, held in memory."""
_STATES: Final[Mapping[str, Literal["approved", "pending", "spam"]]] = {
    "published": "approved",
    "hidden": "pending",
    # Of our own exports.
    "approved": "approved",
    "pending": "pending",
    "spam": "spam",
}

Row = Mapping[str, Any]
Commenter = tuple[str, str]
"""Name and address."""


def members_by_id(rows: Iterable[Any], wanted: set[str]) -> dict[str, Commenter]:
    return {
        key(row.get("id")): (text(row.get("name")), text(row.get("email")))
        for row in rows
        if isinstance(row, dict) and key(row.get("id")) in wanted
    }


def comments_of(
    rows: Iterable[Any], members: Mapping[str, Commenter]
) -> Iterator[SourceComment | Skipped]:
    given: set[str] = set()
    waiting: list[SourceComment] = []
    for row in rows:
        found = _comment(row, members) if isinstance(row, dict) else None
        if isinstance(found, SourceComment) and found.parent_id and found.parent_id not in given:
            waiting.append(found)
            if len(waiting) > MAX_WAITING:
                raise BadFile(
                    staff_words(
                        "The export has far more replies before their comments than a real site "
                        "has."
                    )
                )
            continue
        yield found or Skipped("comment", "", staff_marked("not a comment"))
        if isinstance(found, SourceComment):
            given.add(found.source_id)
    yield from _in_order(waiting, given)


def _in_order(waiting: list[SourceComment], given: set[str]) -> Iterator[SourceComment]:
    answers: dict[str, list[SourceComment]] = {}
    there = given | {each.source_id for each in waiting}
    ready: list[SourceComment] = []
    for each in waiting:
        is_ready = each.parent_id in given or each.parent_id not in there
        (ready if is_ready else answers.setdefault(each.parent_id, [])).append(each)
    while ready or answers:
        if not ready:
            # A circle, which is broken anywhere.
            ready = answers.pop(next(iter(answers)))
        each = ready.pop()
        yield each
        ready += answers.pop(each.source_id, [])


def _comment(row: Row, members: Mapping[str, Commenter]) -> SourceComment | Skipped:
    source_id, post_id = key(row.get("id")), key(row.get("post_id"))
    if text(row.get("status")) == "deleted":
        return Skipped("comment", source_id, "trashed")
    body = text(row.get("masthead_body")) or comment_text(text(row.get("html")))
    if not source_id or not body:
        return Skipped("comment", source_id, "empty" if source_id else "without an id")
    name, email = members.get(key(row.get("member_id")), ("", ""))
    address = normal_email(text(row.get("masthead_email")) or email)
    state = text(row.get("masthead_status")) or text(row.get("status"))
    parent = key(row.get("in_reply_to_id")) or key(row.get("parent_id"))
    return SourceComment(
        source_id=source_id,
        post_key=post_key("post", post_id),
        parent_id="" if parent == source_id else parent,
        author_name=cut(text(row.get("masthead_name")) or name, MAX_NAME) or NAMELESS,
        author_email=address if is_email(address) else "",
        body=cut(body, MAX_BODY),
        status=_STATES.get(state, "pending"),
        created=utc_text(row.get("created_at")),
        warnings=(CUT,) if len(body) > MAX_BODY else (),
    )
