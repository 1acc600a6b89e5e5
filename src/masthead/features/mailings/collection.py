"""The mailings collection: one post, sent to the readers of one newsletter, once; a digest; or a
welcome email, to which every new member is added."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from masthead.base.caller import Caller, Kind
from masthead.base.errors import Forbidden
from masthead.base.languages.words import staff_words
from masthead.engine.records.changes import Change, Later, Save
from masthead.engine.records.collection import Collection, Counter, Index, Record, Rules
from masthead.engine.records.fields.base import Access
from masthead.engine.records.fields.documents import TextList
from masthead.engine.records.fields.languages import LanguageTag, LanguageTags
from masthead.engine.records.fields.relation import Relation
from masthead.engine.records.fields.text import Text
from masthead.engine.records.fields.values import Date, Number, Select

SCHEDULED, SENDING, PAUSED = "scheduled", "sending", "paused"
SENT, CANCELLED, FAILED = "sent", "cancelled", "failed"
ENDED: Final = frozenset({SENT, CANCELLED, FAILED})
STATUS_WORDS: Final[Mapping[str, str]] = {
    SCHEDULED: staff_words("scheduled"),
    SENDING: staff_words("sending"),
    PAUSED: staff_words("paused"),
    SENT: staff_words("sent"),
    CANCELLED: staff_words("called off"),
    FAILED: staff_words("failed"),
}
POST, DIGEST, WELCOME = "post", "digest", "welcome"
EVERYONE, FREE, PAID = "all", "free", "paid"
TELL_FAILED: Final = "mailings.tell_failed"
COUNTS: Final = ("sent", "failed", "uncertain", "bounced", "complained", "unsubscribed")

# No control characters, which would end a header's line, and something to read.
ONE_LINE: Final = re.compile(r"(?=.*\S)[^\x00-\x1f\x7f-\x9f\u2028\u2029]+")

_HELP: Final = {
    "sent": "Emails that the mail server accepted. Without a mail server, emails that were written "
    "to files, not sent.",
    "failed": "Recipients that the mail server refused permanently, or for more than a day.",
    "uncertain": "Recipients whose email may or may not have been sent: the connection or the "
    "process ended before the mail server's answer was stored. They get it again only on "
    "request.",
    "bounced": "Emails that bounced, or were refused, because the mailbox does not exist.",
    "complained": "Recipients who reported the email as spam.",
    "unsubscribed": "Recipients who unsubscribed, cancelled or were deleted before their email "
    "was sent. They did not get it.",
}


def may_send(caller: Caller, settings: Mapping[str, Any]) -> bool:
    """Whether this person of the staff may send mailings of the site with these settings."""
    is_allowed = caller.kind is Kind.EDITOR and settings["editors_send_mailings"]
    return caller.is_admin or bool(is_allowed)


def refuse_sending(caller: Caller, settings: Mapping[str, Any]) -> None:
    if not may_send(caller, settings):
        raise Forbidden(
            staff_words(
                "You can't send emails to members here. Ask %(who_sends)s.",
                who_sends=who_sends(settings),
            )
        )


def who_sends(settings: Mapping[str, Any]) -> str:
    if settings["editors_send_mailings"]:
        return staff_words("an editor or an owner")
    return staff_words("an owner of the site")


def before_save(save: Save) -> Mapping[str, Any]:
    refuse_sending(save.caller, save.site.settings)
    return {}


def mailing_events(change: Change) -> Iterator[str]:
    old, new = change.old, change.new
    if old is None or new is None or new["status"] not in ENDED or old["status"] == new["status"]:
        return
    if new["kind"] == WELCOME:
        # It goes on with the next new member.
        return
    yield "mailing.sent"


def mailing_jobs(change: Change) -> Iterator[Later]:
    """The owner learns of a mailing that has failed; of a welcome email, which is tried again with
    each new member, only once for the same reason."""
    old, new = change.old, change.new
    if old is None or new is None or new["status"] != FAILED or old["status"] == FAILED:
        return
    if new["reason"] != old["reason"]:
        yield Later(TELL_FAILED, {"mailing_id": new["id"]})


def has_reached_nobody(mailing: Record) -> bool:
    """Whether it has ended before anyone got it, or may have got it."""
    is_stopped = mailing["status"] in (CANCELLED, FAILED)
    return is_stopped and not mailing["sent"] and not mailing["uncertain"]


def _number(name: str, help_text: str, *, nullable: bool = False) -> Number:
    return Number(
        name=name, nullable=nullable, read=Access.EDITOR, write=Access.ENGINE, help=help_text
    )


mailings = Collection(
    "mailings",
    (
        Relation(
            name="post_id",
            to="posts",
            read=Access.EDITOR,
            write=Access.ENGINE,
            help="The post that is sent. Empty if the post was deleted, and for other kinds.",
        ),
        Select(
            name="kind",
            values=(POST, DIGEST, WELCOME),
            default=POST,
            read=Access.EDITOR,
            write=Access.ENGINE,
            help="`digest`: the posts of a week instead of one post. `welcome`: the email to new "
            "members, who are added as they join.",
        ),
        Text(
            name="newsletter",
            max=63,
            read=Access.EDITOR,
            write=Access.ENGINE,
            help="The newsletter's slug.",
        ),
        Text(
            name="subject",
            min=1,
            max=255,
            pattern=ONE_LINE,
            allowed=staff_words(
                "May not be blank or contain line breaks or other control characters."
            ),
            read=Access.EDITOR,
            write=Access.ENGINE,
        ),
        Select(
            name="audience",
            values=(EVERYONE, FREE, PAID),
            default=EVERYONE,
            read=Access.EDITOR,
            write=Access.ENGINE,
            help="Only members of this tier.",
        ),
        TextList(
            name="labels",
            max_items=20,
            max_length=50,
            read=Access.EDITOR,
            write=Access.ENGINE,
            help="Only members with one of these labels. If empty, labels make no difference.",
        ),
        LanguageTag(
            name="language",
            read=Access.EDITOR,
            write=Access.ENGINE,
            help="On a site with several languages, for a post in another one than the site's own: "
            "only members with this language.",
        ),
        LanguageTags(
            name="without_languages",
            read=Access.EDITOR,
            write=Access.ENGINE,
            help="On a site with several languages, for a post in the site's own: only members "
            "with none of these.",
        ),
        Select(
            name="status",
            values=(SCHEDULED, SENDING, PAUSED, SENT, CANCELLED, FAILED),
            default=SENDING,
            read=Access.EDITOR,
            write=Access.ENGINE,
            help="`sent`: every recipient is accounted for. `failed`: the mail server accepted "
            "none, or the emails could not be made.",
        ),
        Text(
            name="reason",
            max=500,
            read=Access.EDITOR,
            write=Access.ENGINE,
            help="Why the service itself paused or ended it.",
        ),
        _number(
            "recipients",
            "How many members it is addressed to, fixed when it starts; 0 before. Those of a "
            "welcome email grow.",
        ),
        *(_number(name, _HELP[name]) for name in COUNTS),
        _number(
            "opens",
            "Readers who opened it. Null if the newsletter does not count them.",
            nullable=True,
        ),
        _number(
            "clicks", "Readers who followed a link. Null if it does not count them.", nullable=True
        ),
        Date(name="scheduled_for", read=Access.EDITOR, write=Access.ENGINE),
        Date(name="started_at", read=Access.EDITOR, write=Access.ENGINE),
        Date(name="finished_at", read=Access.EDITOR, write=Access.ENGINE),
        Date(
            name="digest_from",
            read=Access.EDITOR,
            write=Access.ENGINE,
            help="Of a digest: it has the posts that were published after this,",
        ),
        Date(
            name="digest_until",
            read=Access.EDITOR,
            write=Access.ENGINE,
            help="and not after this.",
        ),
        Text(
            name="welcome",
            max=10,
            read=Access.EDITOR,
            write=Access.ENGINE,
            help="Of a welcome email: which one, `free` or `paid`.",
        ),
        # What was tried and had bounced when staff resumed it after the breaker's pause.
        Number(name="tried_before", read=Access.ENGINE, write=Access.ENGINE),
        Number(name="bounced_before", read=Access.ENGINE, write=Access.ENGINE),
    ),
    audited="subject",
    help="Posts, digests and welcome emails that were sent, are being sent or will be sent.",
    editors=Rules(read="", create="", update=""),
    before_save=before_save,
    made_by="POST /api/v1/mailings",
    # The month's quota is counted from them.
    owner_may_delete=False,
    events=mailing_events,
    jobs=mailing_jobs,
    counters=(Counter(by=("status",)),),
    indexes=(
        Index(("post_id", "newsletter"), skip_empty="post_id"),
        Index(("digest_until", "newsletter"), unique=True, skip_empty="digest_until"),
        Index(("welcome",), unique=True, skip_empty="welcome"),
        Index(("status", "scheduled_for"), across_tenants=True),
        Index(("status", "created", "id")),
        Index(("started_at",), skip_empty="started_at"),
    ),
)
