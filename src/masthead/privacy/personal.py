"""Where a member's personal data lies, read from the declarations of the collections' fields.

A collection with personal fields must have its fate in the table below; tests see to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from masthead.members.collection import blog_members
from masthead.privacy.spellings import spellings_of
from masthead.records.collection import Collection, Record, Registry
from masthead.records.fields.base import Field
from masthead.records.fields.relation import Relation
from masthead.records.fields.text import Email


class Fate(StrEnum):
    """What an erasure of a member does to the records that are about them."""

    DELETED = "deleted"
    ANONYMOUS = "anonymous"
    """The record stays, the person's data in it goes."""
    NOT_OF_MEMBERS = "not of members"
    """Personal data of administrators: goes with the tenant."""


FATES = {
    "blog_members": Fate.DELETED,
    "comments": Fate.ANONYMOUS,
    "orders": Fate.ANONYMOUS,
    "gift_cards": Fate.ANONYMOUS,
    "carts": Fate.DELETED,
    "payment_customers": Fate.DELETED,
    "payment_subscriptions": Fate.DELETED,
    "gdpr_requests": Fate.ANONYMOUS,
    "_superusers": Fate.NOT_OF_MEMBERS,
}

WHY_KEPT = {
    "comments": "the words of a discussion stay, without name and address",
    "orders": "bookkeeping is required by law, without name and address",
    "gift_cards": "they can still be redeemed, without the address",
    "gdpr_requests": "proof that the requests were answered, without any address",
    **dict.fromkeys(
        ("posts", "pages", "products", "categories", "media"),
        "they are the site's own, without the address",
    ),
}

KEPT_WORDS = frozenset({("comments", "body")})
"""Personal in an export, but what others have answered to: an erasure takes the address out."""

FREE_TEXTS = frozenset({"posts", "pages", "products", "categories", "media", "comments"})
"""Where anybody may have written a member's address: an erasure takes it out of all of them."""

ANONYMOUS = "Anonymous"
REMOVED = "[removed]"


@dataclass(frozen=True, slots=True)
class Person:
    id: str
    email: str
    customer_id: str


def person_of(member: Record) -> Person:
    return Person(member["id"], member["email"], member["payment_customer_id"])


def personal_fields(collection: Collection) -> tuple[Field, ...]:
    return tuple(each for each in collection.fields if each.personal)


def concerned(registry: Registry) -> Iterable[Collection]:
    """Collections that may hold something about a member."""
    for collection in registry.collections:
        if FATES.get(collection.name) is Fate.NOT_OF_MEMBERS:
            continue
        if personal_fields(collection) or _points_at_members(collection):
            yield collection


def traits(collection: Collection, person: Person) -> Iterable[dict[str, str]]:
    """By which values the person's records are found, each a look-up by equality."""
    if collection is blog_members:
        yield {"id": person.id}
        return
    for field in collection.fields:
        value = _trait(field, person)
        if value:
            yield {field.name: value}


def _trait(field: Field, person: Person) -> str:
    if isinstance(field, Relation):
        return person.id if field.to == blog_members.name else ""
    if field.name == "member_id":
        return person.id
    if isinstance(field, Email) and field.personal:
        return person.email
    return person.customer_id if field.name == "payment_customer_id" else ""


def _points_at_members(collection: Collection) -> bool:
    return any(each.to == blog_members.name for each in collection.relations)


def without_person(collection: Collection, record: Record, person: Person) -> dict[str, Any]:
    """The changes that make a record nobody's."""
    changes: dict[str, Any] = {}
    for field in collection.fields:
        value = record[field.name]
        if isinstance(field, Relation):
            if field.to == blog_members.name and value == person.id:
                changes[field.name] = ""
        elif field.personal and (collection.name, field.name) not in KEPT_WORDS:
            is_name = field.required and not isinstance(field, Email)
            changes[field.name] = ANONYMOUS if is_name else field.empty()
        else:
            changes[field.name] = scrubbed(value, person.email)
    return {name: value for name, value in changes.items() if value != record[name]}


def without_address(collection: Collection, record: Record, email: str) -> dict[str, Any]:
    """The changes that take the address out of a record's texts, whosever the record is."""
    changes = {each.name: scrubbed(record[each.name], email) for each in collection.fields}
    return {name: value for name, value in changes.items() if value != record[name]}


def scrubbed(value: Any, email: str) -> Any:
    """The value without the address, however it is spelled and however deep it stands."""
    if isinstance(value, str):
        return spellings_of(email).replaced(value, REMOVED) if email else value
    if isinstance(value, list):
        return [scrubbed(each, email) for each in value]
    if isinstance(value, dict):
        return {scrubbed(key, email): scrubbed(each, email) for key, each in value.items()}
    return value
