"""Converts the comments of an item, each after its parent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from typing import Final, Literal

from masthead.base.email_address import is_email, normal_email
from masthead.base.ids import is_id
from masthead.base.languages.words import staff_marked
from masthead.faces.importers.convert.plain_texts import (
    CUT,
    MAX_BODY,
    MAX_NAME,
    NAMELESS,
    comment_text,
    cut,
    title_text,
)
from masthead.faces.importers.dates import utc_text
from masthead.faces.importers.source import Skipped, SourceComment

NO_POST: Final = staff_marked("not under an imported post")
_STATES: Final[Mapping[str, Literal["approved", "pending", "spam"]]] = {
    "1": "approved",
    "approve": "approved",
    "0": "pending",
    "hold": "pending",
    "spam": "spam",
}
_NO_DATE: Final = "0000"
_OWN_ID: Final = "_masthead_id"
_OWN_CREATED: Final = "_masthead_created"

Fields = Mapping[str, str]


def comments_of(comments: Sequence[Fields], post_key: str) -> Iterator[SourceComment | Skipped]:
    """`post_key` is '' where the item is not imported as a post."""
    ids = {_id(fields): _source_id(fields) for fields in comments}
    for fields in _parents_first(comments):
        reason = _reason_to_skip(fields, post_key)
        if reason:
            yield Skipped("comment", _source_id(fields), reason)
        else:
            yield _comment(fields, post_key, ids)


def _parents_first(comments: Sequence[Fields]) -> list[Fields]:
    replies: dict[str, list[Fields]] = {}
    ids = {_id(fields) for fields in comments}
    for fields in comments:
        parent = _parent(fields)
        replies.setdefault(parent if parent in ids else "", []).append(fields)
    done: list[Fields] = []
    waiting = replies.pop("", [])[::-1]
    while waiting or replies:
        if not waiting:
            # A cycle, which is broken anywhere.
            waiting = replies.pop(next(iter(replies)))[::-1]
        fields = waiting.pop()
        done.append(fields)
        waiting += replies.pop(_id(fields), [])[::-1]
    return done


def _reason_to_skip(fields: Fields, post_key: str) -> str:
    if not post_key:
        return NO_POST
    if fields.get("comment_type", "") not in ("", "comment"):
        return "pingback, trackback or other automatic comment"
    if fields.get("comment_approved", "") in ("trash", "post-trashed"):
        return "trashed"
    if not _id(fields):
        return "without an id"
    return "" if _body(fields) else "empty"


def _comment(fields: Fields, post_key: str, ids: Mapping[str, str]) -> SourceComment:
    warnings = []
    body = _body(fields)
    if len(body) > MAX_BODY:
        warnings.append(CUT)
    address = normal_email(fields.get("comment_author_email", ""))
    name = title_text(fields.get("comment_author", ""), 2 * MAX_NAME)
    gmt = fields.get("comment_date_gmt", "")
    date = fields.get("comment_date", "") if gmt.startswith(_NO_DATE) or not gmt else gmt
    parent = _parent(fields)
    return SourceComment(
        source_id=_source_id(fields),
        post_key=post_key,
        parent_id="" if parent == _id(fields) else ids.get(parent, parent),
        author_name=cut(name, MAX_NAME) or NAMELESS,
        author_email=address if is_email(address) else "",
        body=cut(body, MAX_BODY),
        status=_STATES.get(fields.get("comment_approved", ""), "pending"),
        created=utc_text(fields.get(_OWN_CREATED, "")) or utc_text(date),
        warnings=tuple(warnings),
    )


def _body(fields: Fields) -> str:
    """As text. Our own exports have it word for word."""
    html = fields.get("comment_content", "")
    return unescape(html) if _own_id(fields) else comment_text(html)


def _own_id(fields: Fields) -> str:
    found = fields.get(_OWN_ID, "")
    return found if is_id(found) else ""


def _source_id(fields: Fields) -> str:
    """That of the exported record, because the numbers differ in every export of ours."""
    return _own_id(fields) or _id(fields)


def _id(fields: Fields) -> str:
    return fields.get("comment_id", "")[:100]


def _parent(fields: Fields) -> str:
    parent = fields.get("comment_parent", "")[:100]
    return "" if parent == "0" else parent
