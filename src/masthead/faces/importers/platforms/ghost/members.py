"""The members of a Ghost site: from the table of a full backup, or from the CSV of the admin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from masthead.base.ids import is_id
from masthead.base.languages.words import staff_marked
from masthead.engine.records.fields.languages import language_tag_in
from masthead.faces.importers.dates import utc_text
from masthead.faces.importers.files.csv_rows import Row, is_no, is_yes
from masthead.faces.importers.platforms.ghost.links import Links, key, text
from masthead.faces.importers.platforms.member_rows import MAX_NAME, checked_email, refused
from masthead.faces.importers.source import Skipped, SourceMember

DELETED: Final = staff_marked("deleted at the source")
_PAST_STATES: Final[Mapping[str, Any]] = {"cancelled": "cancelled", "past_due": "past_due"}
_PAID: Final = frozenset({"paid", "comped", "gift"})


def members_of_csv(rows: Iterable[Row]) -> Iterator[SourceMember | Skipped]:
    for number, row in enumerate(rows, start=1):
        email = checked_email(row["email"])
        if row.get("deleted_at", "").strip():
            yield Skipped("member", f"row {number}", DELETED)
        elif email is None:
            yield refused(number, row["email"])
        else:
            yield _of_csv(email, row)


def _of_csv(email: str, row: Row) -> SourceMember:
    customer = row.get("stripe_customer_id", "").strip()
    subscribed = row.get("subscribed_to_emails", row.get("subscribed"))
    labels = [each.strip() for each in row.get("labels", "").split(",") if each.strip()]
    # Ids of Ghost are longer than those of our own exports, in which a state is a label.
    states = [
        _PAST_STATES[each] for each in labels if each in _PAST_STATES and is_id(row.get("id", ""))
    ]
    is_paid = customer or is_yes(row.get("complimentary_plan", "")) or row.get("tiers", "").strip()
    return SourceMember(
        email=email,
        name=row.get("name", "").strip()[:MAX_NAME],
        tier="paid" if is_paid else "free",
        # An unknown word means no newsletter; an empty cell means the default.
        newsletter=subscribed is None or not subscribed.strip() or is_yes(subscribed),
        payment_customer_id=customer[:MAX_NAME],
        created=utc_text(row.get("created_at", "")),
        labels=tuple(each for each in labels if each not in states),
        note=row.get("note", "").strip(),
        past_state=states[0] if states else "",
        levels=tuple(filter(None, map(str.strip, row.get("tiers", "").split(",")))),
        language=language_tag_in(row.get("masthead_language", "")),
    )


def members_of_table(rows: Iterable[Any], links: Links) -> Iterator[SourceMember | Skipped]:
    for number, row in enumerate(rows, start=1):
        given = text(row.get("email")) if isinstance(row, dict) else ""
        email = checked_email(given)
        yield refused(number, given) if email is None else _of_row(email, row, links)


def _of_row(email: str, row: Mapping[str, Any], links: Links) -> SourceMember:
    member_id = key(row.get("id"))
    customer = links.customer(member_id)
    return SourceMember(
        email=email,
        name=text(row.get("name"))[:MAX_NAME],
        tier="paid" if _is_paid(row, customer, links) else "free",
        newsletter=_gets_newsletter(row, links.gets_newsletter(member_id)),
        payment_customer_id=customer,
        created=utc_text(row.get("created_at")),
        labels=links.labels(member_id),
        note=text(row.get("note")),
        levels=links.levels(member_id),
    )


def _is_paid(row: Mapping[str, Any], customer: str, links: Links) -> bool:
    """Reads the status, which Ghost has since 4.0. Before that, complimentary members had a
    subscription, too."""
    status = text(row.get("status"))
    return status in _PAID if status else links.is_paying(customer)


def _gets_newsletter(row: Mapping[str, Any], is_listed: bool | None) -> bool:
    if row.get("email_disabled") in (1, True):
        return False
    if is_listed is not None:
        return is_listed
    return not is_no(str(row.get("subscribed", 1)))
