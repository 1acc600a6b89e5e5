"""Reads lists of subscribers: of the three versions of Substack's export, of its dashboard, and of
our own export."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from masthead.base.languages.words import staff_marked
from masthead.faces.importers.dates import utc_text
from masthead.faces.importers.files.csv_rows import Row, is_no, is_yes
from masthead.faces.importers.platforms.member_rows import MAX_NAME, Entry, checked_email, refused
from masthead.faces.importers.source import Skipped, SourceMember

ERASED: Final = staff_marked("erased at the source")
_ERASED_DOMAIN: Final = "@deletion-request.substack.com"
# Also of lists that have the billing period as the type; 'other' and 'free' are free.
_PAID: Final = frozenset(
    {"paid", "monthly", "month", "yearly", "annual", "year", "founding", "founding_member"}
    | {"comp", "comped", "complimentary", "gift", "gifted", "lifetime", "ios_app", "group"}
)


def subscribers_of(rows: Iterable[Row]) -> Iterator[Entry]:
    for number, row in enumerate(rows, start=1):
        given = row["email"]
        if given.strip().lower().endswith(_ERASED_DOMAIN):
            yield Skipped("member", f"row {number}", ERASED)
            continue
        email = checked_email(given)
        yield refused(number, given) if email is None else _member(email, row)


def _member(email: str, row: Row) -> SourceMember:
    created = _first(row, "created_at", "start_date", "subscription_date", "created")
    customer = _first(
        row, "stripe_connected_customer_id", "stripe_customer_id", "payment_customer_id"
    )
    return SourceMember(
        email=email,
        name=_first(row, "name")[:MAX_NAME],
        tier="paid" if _is_paid(row) else "free",
        # An unknown word means no newsletter.
        newsletter=is_no(row.get("email_disabled", "")) and is_yes(row.get("newsletter", "yes")),
        payment_customer_id=customer[:MAX_NAME],
        created=utc_text(created),
    )


def _is_paid(row: Row) -> bool:
    """The flag decides where there is one: it is false for a plan that has ended."""
    if "active_subscription" in row:
        return is_yes(row["active_subscription"])
    # In the dashboard's list, `type` is the role of the person.
    plan = _first(row, "subscription_type") if "subscription_type" in row else _first(row, "type")
    plan = plan or _first(row, "plan", "tier")
    return "_".join(plan.lower().split()) in _PAID


def _first(row: Row, *columns: str) -> str:
    for column in columns:
        value = row.get(column, "").strip()
        if value:
            return value
    return ""
