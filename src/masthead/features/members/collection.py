"""The members collection: readers who may sign in, subscribe and pay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from masthead.base import ids
from masthead.base.caller import Audience, Reader
from masthead.base.errors import Invalid, Problem
from masthead.base.languages.words import staff_words
from masthead.engine.records.accounts import ACCOUNT_FIELDS
from masthead.engine.records.changes import Change, Save, Snapshot, Tally
from masthead.engine.records.collection import Collection, Counter, Index, Record, Rules, Searched
from masthead.engine.records.derived.daily_counts import day_of
from masthead.engine.records.fields.base import Access
from masthead.engine.records.fields.documents import TextList
from masthead.engine.records.fields.languages import LanguageTag
from masthead.engine.records.fields.relation import OnDelete, Relation
from masthead.engine.records.fields.text import Email, Text
from masthead.engine.records.fields.values import Date, Flag, Select
from masthead.features.members.welcome import KINDS, Welcome, stamp_welcome
from masthead.identity.tenants import COMMENT_MAILS_OFF

MEMBERS_JOINED, MEMBERS_LEFT = "members.joined", "members.left"
MEMBERS_PAID = "members.paid"
"""Joined and paid: of all, and by the id of the post that convinced them."""
SUBSCRIBED, NO_LONGER_SUBSCRIBED = "members.subscribed", "members.unsubscribed"
"""To newsletters at all."""
TURNED_ON, TURNED_OFF = "newsletters.turned_on", "newsletters.turned_off"
"""Counts per day of subscribed members, by the newsletter's slug."""
HISTORY: Final = "member_history"
MAILS: Final = "member_mails"
RECORDED: Final = ("tier", "status", "newsletter", "email", "name", "labels", "note")
STATES_OF: Final = frozenset({"tier", "status", "newsletter"})
"""The fields whose values are in the history."""
MAX_HISTORY: Final = 100
MAX_OFF: Final = 100
"""Newsletters that a member can turn off."""
WAITING, SENT, FAILED = "waiting", "sent", "failed"
UNSUBSCRIBED: Final = ("subscriber.removed", "member.unsubscribed")
"""The events of a member who no longer gets newsletters."""
SELF = "@request.auth.collectionName = 'blog_members' && @request.auth.id = id"


def is_subscribed(member: Record | None) -> bool:
    """Gets the newsletter: turned on, and not cancelled."""
    return member is not None and member["newsletter"] and member["status"] != "cancelled"


def member_events(change: Change) -> Iterator[str]:
    if is_subscribed(change.new) and not is_subscribed(change.old):
        yield "subscriber.added"
        yield "member.subscribed"
    elif _has_unsubscribed(change):
        yield from UNSUBSCRIBED
    if change.old and change.new and change.old["tier"] != change.new["tier"]:
        yield "member.tier_changed"


def _has_unsubscribed(change: Change) -> bool:
    """Unsubscribed, cancelled or deleted; true only for the first of these."""
    if change.old is None:
        return False
    if change.new is None:
        return change.old["status"] != "cancelled" or is_subscribed(change.old)
    if change.became("status", "cancelled"):
        return True
    return is_subscribed(change.old) and not is_subscribed(change.new)


def member_tallies(change: Change, now: str) -> Iterator[Tally]:
    if change.old is None:
        yield from _by_post(MEMBERS_JOINED, day_of(change.record["created"]), change, "joined_from")
    elif change.new is None:
        yield Tally(MEMBERS_LEFT, day_of(now))
    day = day_of(change.record["created"] if change.old is None else now)
    if change.became("tier", "paid"):
        yield from _by_post(MEMBERS_PAID, day, change, "paid_from")
    was, is_now = is_subscribed(change.old), is_subscribed(change.new)
    if was != is_now:
        yield Tally(SUBSCRIBED if is_now else NO_LONGER_SUBSCRIBED, day)
    # Subscribers of one newsletter are all subscribers without those who have turned it off.
    before, after = _turned_off(change.old), _turned_off(change.new)
    yield from (Tally(TURNED_OFF, day, slug) for slug in sorted(after - before))
    yield from (Tally(TURNED_ON, day, slug) for slug in sorted(before - after))


def _by_post(metric: str, day: str, change: Change, field: str) -> Iterator[Tally]:
    yield Tally(metric, day)
    if post_id := change.record[field]:
        yield Tally(metric, day, post_id)


def _turned_off(member: Record | None) -> set[str]:
    if member is None or not is_subscribed(member):
        return set()
    return set(member["newsletters_off"])


def member_snapshots(change: Change) -> Iterator[Snapshot]:
    """The new state of a member, for the page of the member."""
    if change.old is None or change.new is None:
        return
    for name in RECORDED:
        was, now = change.old[name], change.new[name]
        if was != now:
            values = {"member_id": change.new["id"], "what": name}
            if name in STATES_OF:
                # The others are no states: an old address is nobody's business any more.
                values |= {"was": _as_text(was), "now": _as_text(now)}
            yield Snapshot(HISTORY, values, by="member_id", newest=MAX_HISTORY, names_caller=True)


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


member_history = Collection(
    HISTORY,
    (
        Relation(
            name="member_id",
            to="blog_members",
            required=True,
            immutable=True,
            on_delete=OnDelete.CASCADE,
            read=Access.EDITOR,
            write=Access.ENGINE,
        ),
        Select(name="what", values=RECORDED, read=Access.EDITOR, write=Access.ENGINE),
        Text(name="was", max=20, read=Access.EDITOR, write=Access.ENGINE, personal=True),
        Text(name="now", max=20, read=Access.EDITOR, write=Access.ENGINE, personal=True),
        Text(
            name="changed_by",
            max=20,
            read=Access.EDITOR,
            write=Access.ENGINE,
            help="`owner`, `editor` or `operator`; `member` for the person, `key` for an API key, "
            "`system` for payments, imports and links in emails.",
        ),
        Text(
            name="account_id",
            max=15,
            read=Access.EDITOR,
            write=Access.ENGINE,
            help="Of the staff who made the change.",
        ),
    ),
    help=f"The {MAX_HISTORY} newest changes of each member: tier, status and newsletter with their "
    "values; that address, name, labels or note changed; and by whom.",
    editors=Rules(read=""),
    made_by="a change of a member",
    indexes=(Index(("member_id", "created", "id")),),
    called=staff_words("the history of members"),
)

member_mails = Collection(
    MAILS,
    (
        Relation(
            name="member_id",
            to="blog_members",
            required=True,
            immutable=True,
            on_delete=OnDelete.CASCADE,
            read=Access.EDITOR,
            write=Access.ENGINE,
        ),
        Text(name="mail_id", max=15, read=Access.ENGINE, write=Access.ENGINE),
        Text(
            name="template",
            max=50,
            read=Access.EDITOR,
            write=Access.ENGINE,
            personal=True,
            help="What the email was, such as `sign_in`. Its text and subject are not stored.",
        ),
        Select(
            name="state",
            values=(WAITING, SENT, FAILED),
            default=WAITING,
            read=Access.EDITOR,
            write=Access.ENGINE,
            help="`sent`: the mail server accepted it. `failed`: it did not, and there are no "
            "more attempts.",
        ),
        Date(name="ended_at", read=Access.EDITOR, write=Access.ENGINE),
    ),
    help=f"The {MAX_HISTORY} newest emails to each member: which, when, and their outcome.",
    editors=Rules(read=""),
    made_by="an email to a member",
    indexes=(
        Index(("member_id", "created", "id")),
        Index(("mail_id",), skip_empty="mail_id"),
    ),
    called=staff_words("emails to members"),
)

MAIL_OK, BOUNCED, COMPLAINED = "ok", "bounced", "complained"
MAIL_FIELDS: Final = (
    Select(
        name="mail_state",
        values=(MAIL_OK, BOUNCED, COMPLAINED),
        default=MAIL_OK,
        read=Access.EDITOR,
        write=Access.ADMIN,
        help="Whether newsletters are sent to the address. `bounced`: the mailbox does not "
        "exist. `complained`: the reader reported one as spam. Staff can set it back to `ok`.",
    ),
    Date(name="mail_state_at", read=Access.EDITOR, write=Access.ENGINE),
    Text(
        name="mail_state_reason",
        max=500,
        read=Access.EDITOR,
        write=Access.ENGINE,
        personal=True,
        help="The mail server's words, or who reported it.",
    ),
)


SIGN_UP_FORM: Final = "sign-up form, confirmed by email"
ACCOUNT_PAGE: Final = "the member's account page"
IMPORTED: Final = "import: {how}"
NOT_STATED: Final = "not stated"
CONSENT_FIELDS: Final = (
    Text(
        name="consent_source",
        max=500,
        immutable=True,
        read=Access.EDITOR,
        write=Access.ADMIN,
        personal=True,
        help=f"How the member agreed to get newsletters: `{SIGN_UP_FORM}`, `{ACCOUNT_PAGE}`, or "
        "what was said at the import. Given when a member is made; later only the member's own "
        "agreement changes it.",
    ),
    Date(
        name="consent_at",
        immutable=True,
        read=Access.EDITOR,
        write=Access.ADMIN,
        help="When; for an import its time.",
    ),
    Text(
        name="consent_form",
        max=2_000,
        immutable=True,
        read=Access.EDITOR,
        write=Access.ADMIN,
        personal=True,
        help="The page on which the member agreed.",
    ),
)


def consent(source: str, at: str, form: str = "") -> dict[str, str]:
    """The values of `CONSENT_FIELDS`, for our own code."""
    return {"consent_source": source[:500], "consent_at": at, "consent_form": form[:2_000]}


def imported_consent(how: str, at: str) -> dict[str, str]:
    return consent(IMPORTED.format(how=how or NOT_STATED), at)


LEVEL_FIELDS: Final = (
    Relation(
        name="tier_id",
        to="tiers",
        on_delete=OnDelete.REFUSE,
        has_key=False,
        write=Access.ADMIN,
        help="Which tier a paid member has bought or was given. Empty for a free member, and for a "
        "paid one who reads no posts of chosen tiers.",
    ),
    Date(
        name="access_until",
        write=Access.ENGINE,
        help="Until when a member is paid who was given that: whether they pay or not.",
    ),
    Relation(
        name="access_tier_id",
        to="tiers",
        on_delete=OnDelete.REFUSE,
        has_key=False,
        write=Access.ENGINE,
        help="Which tier they were given until then. `tier_id` may be a higher one that they pay.",
    ),
)
NO_LEVEL: Final = {"tier_id": "", "access_until": "", "access_tier_id": ""}
_FREE_WITH_LEVEL: Final = Problem(
    "validation_not_settable", "Only a paid member has one: set `tier` to paid, too."
)


def stamp_level(save: Save) -> Mapping[str, Any]:
    """A member who is no longer paid has no level, and no access that was given."""
    new = save.new
    if new["tier"] == "paid":
        return {}
    if "tier_id" in save.given and new["tier_id"]:
        raise Invalid({"tier_id": _FREE_WITH_LEVEL})
    return {name: value for name, value in NO_LEVEL.items() if new[name]}


def stamp_mail_state(save: Save) -> Mapping[str, Any]:
    """Another address has not bounced. Only our own code gives a reason."""
    old, new = save.old, save.new
    if old is None:
        return {}
    if new["email"] != old["email"] and old["mail_state"] != MAIL_OK:
        return {"mail_state": MAIL_OK, "mail_state_at": save.now, "mail_state_reason": ""}
    if new["mail_state"] == old["mail_state"]:
        return {}
    has_reason = new["mail_state_reason"] != old["mail_state_reason"]
    reason = new["mail_state_reason"] if has_reason else ""
    return {"mail_state_at": save.now, "mail_state_reason": reason}


def before_save(save: Save) -> Mapping[str, Any]:
    return {
        **stamp_mail_state(save),
        **stamp_welcome(save),
        **stamp_level(save),
        **_forget_checkout(save),
    }


def _forget_checkout(save: Save) -> Mapping[str, Any]:
    """The post of a checkout convinced once: who pays again later may come from another."""
    old, new = save.old, save.new
    has_ended = old is not None and old["tier"] == "paid" and new["tier"] != "paid"
    return {"paid_from": ""} if has_ended and new["paid_from"] else {}


blog_members = Collection(
    "blog_members",
    (
        Email(name="email", required=True, unique=True, personal=True),
        Text(name="name", max=255, write=Access.MEMBER, personal=True),
        Select(name="tier", values=("free", "paid"), default="free"),
        *LEVEL_FIELDS,
        Select(name="status", values=("active", "cancelled", "past_due"), default="active"),
        Flag(
            name="newsletter",
            write=Access.MEMBER,
            help="Whether the member wants newsletters. If off, they get none, whatever "
            "`newsletters_off` says.",
        ),
        TextList(
            name="newsletters_off",
            max_items=MAX_OFF,
            max_length=63,
            write=Access.MEMBER,
            help="The slugs of the newsletters that the member does not want.",
        ),
        *MAIL_FIELDS,
        *CONSENT_FIELDS,
        TextList(
            name="welcomed",
            max_items=len(KINDS),
            max_length=10,
            read=Access.EDITOR,
            write=Access.ENGINE,
            help="The tiers that the member was welcomed to, whether or not the site sent an email "
            "then. No welcome email to them follows.",
        ),
        Text(
            name="payment_customer_id",
            max=255,
            personal=True,
            help="The customer's id at the payment processor.",
        ),
        COMMENT_MAILS_OFF,
        TextList(
            name="labels",
            max_items=20,
            max_length=50,
            indexed=True,
            read=Access.EDITOR,
            write=Access.ADMIN,
            help="The site's own groups. Only staff see them; a data export includes them.",
        ),
        Text(
            name="note",
            max=2_000,
            read=Access.EDITOR,
            write=Access.ADMIN,
            personal=True,
            help="Only staff see it; a data export includes it.",
        ),
        Text(
            name="joined_from",
            max=ids.LENGTH,
            read=Access.EDITOR,
            write=Access.ENGINE,
            help="The id of the post whose link the member followed to join. Empty for none.",
        ),
        Text(
            name="paid_from",
            max=ids.LENGTH,
            read=Access.EDITOR,
            write=Access.ENGINE,
            help="The id of the post whose link the member followed to the last checkout. Empty "
            "for none.",
        ),
        LanguageTag(
            name="language",
            write=Access.MEMBER,
            help="The member's language, as a BCP 47 tag. Emails and the pages of the account are "
            "in it if it is one of the site's `languages`. If empty, the site's own.",
        ),
        *ACCOUNT_FIELDS,
    ),
    audited="",
    help="The people with an account at a site, who can sign in, subscribe and pay.",
    rules=Rules(read=SELF, update=SELF),
    editors=Rules(read=""),
    is_auth=True,
    is_identity=True,
    before_save=before_save,
    events=member_events,
    snapshots=member_snapshots,
    counters=(
        Counter(by=("tier", "status", "newsletter")),
        Counter(by=("tier", "status"), each="labels"),
        Counter(by=("status", "newsletter"), each="newsletters_off"),
    ),
    tallies=member_tallies,
    searchable=(Searched("name"), Searched("email")),
    indexes=(
        Index(("tier", "created", "id")),
        Index(("tier_id", "created", "id")),
        Index(("access_tier_id",), skip_empty="access_tier_id"),
        # Whose access ends.
        Index(("access_until",), across_tenants=True, skip_empty="access_until"),
        Index(("status", "created", "id")),
        Index(("newsletter", "created", "id")),
        Index(("mail_state", "mail_state_at", "id")),
        # A bounce stops the address on every site.
        Index(("email",), across_tenants=True),
        Index(("payment_customer_id",), skip_empty="payment_customer_id"),
        # Who has changed since a mailing's recipients were staged.
        Index(("updated",)),
    ),
    followers=(Welcome(),),
    called=staff_words("members"),
)


def reader_of_member(member: Record) -> Reader:
    """Decides what a member may read on the site."""
    is_paid = member["tier"] == "paid" and member["status"] != "cancelled"
    return Reader(Audience.PAID, member["tier_id"] or "") if is_paid else Reader(Audience.FREE)
