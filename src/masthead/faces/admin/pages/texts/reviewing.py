"""The review of a post: who may still change it, where it stands, and sending it back."""

from __future__ import annotations

import msgspec

from masthead.base.caller import Kind
from masthead.base.errors import Conflict, Invalid, Problem
from masthead.base.languages.words import words
from masthead.content.texts.editing import change_draft, open_text
from masthead.content.texts.publication import PUBLISHED
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.base import REQUIRED
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.forms import Ask, Form
from masthead.faces.admin.people import names_of
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import POSTS
from masthead.features.posts.review import READY, REVIEW_NOTE

_FORM = Form(
    POSTS.texts,
    (
        Ask(
            REVIEW_NOTE.name,
            words("Note"),
            words("Emailed to the writer, and shown on the post until it is ready again."),
            rows=8,
        ),
    ),
)


class Review(msgspec.Struct, frozen=True):
    """The review of a post, in words."""

    is_ready: bool
    note: str
    by: str
    when: str
    may_send_back: bool


async def review_of(request: AdminRequest, post: Record) -> Review | None:
    """None for a post that was neither handed in nor sent back."""
    if not post["review"] and not post["review_note"]:
        return None
    [name] = await names_of(request, [post["review_by"]])
    return Review(
        is_ready=bool(post["review"]),
        note=post["review_note"],
        by=name or words("a program"),
        when=request.when(post["review_at"]) if post["review_at"] else "",
        may_send_back=not request.caller.is_writer,
    )


def may_change(request: AdminRequest, text: Record) -> bool:
    """As the collection's rules say it: a contributor's post is theirs until someone else publishes
    or schedules it."""
    is_out = text["status"] == PUBLISHED or bool(text.get("scheduled_for"))
    return request.caller.kind is not Kind.CONTRIBUTOR or not is_out


async def send_back_form(request: AdminRequest, post_id: str) -> Answer:
    opened = await open_text(request.records, request.caller, POSTS.kind, post_id)
    own, post = POSTS.url(post_id), opened.text
    if post["review"] != READY:
        return Redirect(own, words("Nobody waits for a review of this post."))
    values = {
        "own": own,
        "title": opened.values["title"],
        "review": await review_of(request, post),
        "version": opened.version,
        **_FORM.values(request, post),
    }
    return Page("texts/send_back.html", words("Send back"), values)


async def send_back(request: AdminRequest, post_id: str) -> Answer:
    note = request.form.get(REVIEW_NOTE.name, "").replace("\r\n", "\n").strip()
    if not note:
        raise Invalid({REVIEW_NOTE.name: REQUIRED})
    own = POSTS.url(post_id)
    text = (request.records, request.caller, POSTS.kind, post_id)
    if (await open_text(*text)).text["review"] != READY:
        return Redirect(own, words("Nobody waits for a review of this post."))
    try:
        await change_draft(
            *text,
            version=request.form.get("version", ""),
            state={"review": "", REVIEW_NOTE.name: note},
        )
    except Conflict as error:
        raise Invalid({REVIEW_NOTE.name: _CHANGED}) from error
    return Redirect(own, words("It is sent back. Its writer gets the note by email."))


_CHANGED = Problem(
    "validation_changed",
    words("The post has been changed since. Check it, then send it back again."),
)
