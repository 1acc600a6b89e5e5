"""Where a member's personal data is stored, read from the declarations of the fields.

Every collection with personal fields has an erasure rule in the table below; a test checks it.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import msgspec

from masthead.base.languages.words import words
from masthead.engine.audit.collection import audit_log
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.fields.base import Field
from masthead.engine.records.fields.relation import Relation
from masthead.engine.records.fields.text import Email
from masthead.engine.records.registry import Registry
from masthead.features.members.collection import blog_members
from masthead.features.privacy.email_variants import email_pattern
from masthead.identity.tenants import superusers


class ErasureRule(StrEnum):
    """The effect of a member's erasure on the records about them."""

    DELETE = "delete"
    ANONYMIZE = "anonymize"
    """The record stays without the person's data."""
    NOT_MEMBER_DATA = "not member data"
    """Personal data of administrators: deleted with the tenant."""


ERASURE_RULES = {
    "blog_members": ErasureRule.DELETE,
    "member_history": ErasureRule.DELETE,
    "member_mails": ErasureRule.DELETE,
    "comments": ErasureRule.ANONYMIZE,
    "orders": ErasureRule.ANONYMIZE,
    "gift_cards": ErasureRule.ANONYMIZE,
    "carts": ErasureRule.DELETE,
    "sign_in_links": ErasureRule.DELETE,
    "payment_customers": ErasureRule.DELETE,
    "payment_subscriptions": ErasureRule.DELETE,
    "gdpr_requests": ErasureRule.ANONYMIZE,
    "trash_items": ErasureRule.ANONYMIZE,
    "_superusers": ErasureRule.NOT_MEMBER_DATA,
    "audit_log": ErasureRule.NOT_MEMBER_DATA,
}

_TEXTS = (
    "posts",
    "post_revisions",
    "post_working_copies",
    "pages",
    "page_revisions",
    "page_working_copies",
    "products",
    "tiers",
    "categories",
    "tags",
    "media",
    "trash",
    "trash_items",
)

WHY_KEPT = {
    "comments": words("the words of a discussion stay, without name and address"),
    "orders": words("bookkeeping is required by law, without name and address"),
    "gift_cards": words("they can still be redeemed, without the person's address"),
    "gdpr_requests": words("proof that the requests were answered, without any address"),
    **dict.fromkeys(_TEXTS, words("they are the site's own, without the address")),
    "audit_log": words("it says what staff did, without the address"),
}

KEPT_FIELDS = frozenset({("comments", "body")})
"""Exported as personal data. An erasure only removes the address, because others replied to it."""

ADDRESSES_OF_TWO = frozenset({("gift_cards", "email"), ("gift_cards", "buyer_email")})
"""Addresses of different people in one record: the one stays when the other is erased."""

FREE_TEXT_COLLECTIONS = frozenset({*_TEXTS, "comments", audit_log.name})
"""Their texts may contain a member's address: an erasure removes it."""

ANONYMOUS = "Anonymous"
REMOVED = "[removed]"


class Person(msgspec.Struct, frozen=True):
    id: str
    email: str
    customer_id: str


def person_of(member: Record) -> Person:
    return Person(member["id"], member["email"], member["payment_customer_id"])


def personal_fields(collection: Collection) -> tuple[Field, ...]:
    return tuple(each for each in collection.fields if each.personal)


def member_collections(registry: Registry) -> Iterable[Collection]:
    """Collections that may hold records about a member."""
    for collection in registry.collections:
        if ERASURE_RULES.get(collection.name) is ErasureRule.NOT_MEMBER_DATA:
            continue
        if personal_fields(collection) or _points_at_members(collection):
            yield collection


def member_filters(collection: Collection, person: Person) -> Iterable[dict[str, str]]:
    """Equality filters that find the person's records."""
    if collection is blog_members:
        yield {"id": person.id}
        return
    for field in collection.fields:
        value = _filter_value(field, person)
        if value:
            yield {field.name: value}


def _filter_value(field: Field, person: Person) -> str:
    if isinstance(field, Relation):
        return person.id if field.to == blog_members.name else ""
    if field.name == "member_id":
        return person.id
    if isinstance(field, Email) and field.personal:
        return person.email
    return person.customer_id if field.name == "payment_customer_id" else ""


def _points_at_members(collection: Collection) -> bool:
    return any(each.to == blog_members.name for each in collection.relations)


def anonymized(collection: Collection, record: Record, person: Person) -> dict[str, Any]:
    """The changes that remove the person from a record."""
    changes: dict[str, Any] = {}
    for field in collection.fields:
        value = record[field.name]
        if isinstance(field, Relation):
            if field.to == blog_members.name and value == person.id:
                changes[field.name] = ""
        elif _is_of_another(collection, field, value, person):
            continue
        elif field.personal and (collection.name, field.name) not in KEPT_FIELDS:
            is_name = field.required and not isinstance(field, Email)
            changes[field.name] = ANONYMOUS if is_name else field.empty()
        else:
            changes[field.name] = scrubbed(value, person.email)
    return {name: value for name, value in changes.items() if value != record[name]}


def _is_of_another(collection: Collection, field: Field, value: Any, person: Person) -> bool:
    """A gift has the addresses of two people, of whom one may leave."""
    return (collection.name, field.name) in ADDRESSES_OF_TWO and value != person.email


def anonymized_copy(registry: Registry, item: Record, person: Person) -> dict[str, Any]:
    """The same of a copy in the trash: it is found by its own fields, and the person is in the
    document as well."""
    collection = registry[item["type"]]
    document = {**collection.default_values(), **item["document"]}
    inner = anonymized(collection, document, person)
    changes = {"email": "", "member_id": "", "document": {**item["document"], **inner}}
    return {name: value for name, value in changes.items() if value != item[name]}


def without_address(collection: Collection, record: Record, email: str) -> dict[str, Any]:
    """The changes that remove the address from any record's texts."""
    names = _texts(collection, record)
    changes = {name: scrubbed(record[name], email) for name in names}
    return {name: value for name, value in changes.items() if value != record[name]}


def _texts(collection: Collection, record: Record) -> Iterable[str]:
    """In the audit log the names of other records, such as titles. The addresses of staff stay
    there: a member with the address of a colleague may not erase what the colleague did."""
    if collection is not audit_log:
        return (each.name for each in collection.fields)
    return () if record["subject"] == superusers.name else ("label",)


def scrubbed(value: Any, email: str) -> Any:
    """The value without any variant of the address, at any depth."""
    if isinstance(value, str):
        return email_pattern(email).replaced(value, REMOVED) if email else value
    if isinstance(value, list):
        return [scrubbed(each, email) for each in value]
    if isinstance(value, dict):
        return {scrubbed(key, email): scrubbed(each, email) for key, each in value.items()}
    return value
