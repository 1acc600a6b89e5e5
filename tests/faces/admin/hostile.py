"""A site whose every text is an attack: each payload in each field of each collection.

The fields come from the collections' declarations, so that a new field is attacked as well.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from tests.faces.admin.payloads import PAYLOADS
from tests.world import TenantWorld

from masthead.base.caller import system
from masthead.engine.records.collection import Collection, file_key
from masthead.engine.records.fields.base import Access, Field, FieldError
from masthead.engine.records.fields.documents import Json, TextList
from masthead.engine.records.fields.file import File
from masthead.engine.records.fields.relation import Relation
from masthead.engine.records.fields.relation_list import RelationList
from masthead.engine.records.fields.secrets import Hash, Secret
from masthead.engine.records.fields.text import Email, Slug, Text, Url
from masthead.engine.records.fields.values import Date, Number, Select
from masthead.faces.importers.report import Note, Report, Tally
from masthead.features.payments.offers import OfferCode
from masthead.features.single_sign_on.collection import Issuer

Ids = dict[str, list[str]]
"""The ids of the hostile records by collection."""

ONE_PER_SITE = frozenset({"tenants", "site_settings"})
"""The test changes these again and again instead."""

# The service makes these itself from nothing that others have written.
MACHINE_MADE = frozenset(
    {
        ("media", "url"),
        ("media", "mime_type"),
        ("media", "mime_family"),
        ("media", "picture_sizes"),
    }
)
LONGEST_ID = 15


async def fill(tenant: TenantWorld) -> Ids:
    known: Ids = {}
    collections = tenant.world.parts.records.registry.collections
    # Each tag of a post would make one of them, too.
    for collection in sorted(collections, key=lambda each: each.name != "tags"):
        if collection.name not in ONE_PER_SITE:
            known[collection.name] = await _attack(tenant, collection, known)
    await _upload_lists(tenant, known["member_imports"])
    return known


async def _upload_lists(tenant: TenantWorld, import_ids: list[str]) -> None:
    """Each import of members has a file whose every heading and cell is an attack."""
    parts, collection = tenant.world.parts, tenant.world.collection("member_imports")
    columns = {"email": "email", "name": "name", "labels": "labels", "note": "note"}
    for number, import_id in enumerate(import_ids):
        text, attacks = io.StringIO(), _rotated(number)
        rows = ([f"p{each}@example.com", *attacks] for each in range(3))
        csv.writer(text).writerows([[*columns, *attacks], *rows])
        key = file_key(tenant.id, collection, import_id, "members.csv")
        await parts.objects.put(key, text.getvalue().encode())
        stamped = {"object_key": key, "rows": 3, "options": {"columns": columns}}
        async with parts.records.unit(system(tenant.id)) as unit:
            await unit.update(collection, import_id, {}, stamped=stamped)


async def _attack(tenant: TenantWorld, collection: Collection, known: Ids) -> list[str]:
    made = []
    async with tenant.world.parts.records.unit(system(tenant.id)) as unit:
        for number in range(_most(collection)):
            given, stamped = record(collection, number, known)
            made.append((await unit.create(collection, given, stamped=stamped))["id"])
    return made


def _most(collection: Collection) -> int:
    """As many as there are payloads, and as a choice that is made once allows."""
    unique = {each.fields for each in collection.indexes if each.unique}
    choices = (
        each.values
        for each in collection.fields
        if isinstance(each, Select) and (each.unique or (each.name,) in unique)
    )
    return min((len(PAYLOADS), *map(len, choices)))


def record(
    collection: Collection, number: int, known: Ids
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the values to send, and those that the service itself would set."""
    given: dict[str, Any] = {}
    stamped: dict[str, Any] = {}
    for field in collection.fields:
        if (collection.name, field.name) in MACHINE_MADE:
            continue
        values = stamped if field.write is Access.ENGINE else given
        for value in candidates(field, number, known):
            if is_accepted(field, value):
                values[field.name] = value
                break
    match collection.name:
        case "snippets":
            given["content_json"] = _shown_text(PAYLOADS[number], number)
        case "gift_cards":
            given["months"] = 1
    return given, stamped


def is_accepted(field: Field, value: Any) -> bool:
    try:
        field.check(value)
    except FieldError:
        return False
    return True


def candidates(field: Field, number: int, known: Ids) -> Iterator[Any]:
    """The most dangerous values first; the field takes the first that it does not refuse."""
    payload = PAYLOADS[number]
    match field:
        case Hash():
            if field.unique or field.required or field.name == "token_key":
                yield f"{number:040}"
        case Secret():
            yield payload
        case Relation() | RelationList():
            yield from _related(field, number, known)
        case TextList():
            fitting = [each for each in _rotated(number) if len(each) <= field.max_length]
            yield fitting[:3]
            yield [field.values[number % len(field.values)]] if field.values else []
        case Json():
            yield from _documents(field.name, payload, number)
        case File():
            yield f"p{number}.png"
        case Url() | Issuer():
            yield payload
            yield f"https://example.com/{payload}"
            yield f"https://example.com/'autofocus/onfocus='tripwire({number})"
            yield f"https://example.com/{number}"
        case Email():
            yield f"p{number}'onfocus=tripwire({number})'@example.com"
            yield f"p{number}@example.com"
        case OfferCode():
            yield f"P{number}"
        case Slug():
            yield payload
            yield f"p{number}'onfocus='tripwire({number})"
        case Text():
            yield from _texts(field, number, known)
        case Select():
            if field.values:
                yield field.values[number % len(field.values)]
        case Date():
            if field.required or field.write is Access.ENGINE:
                yield "2026-11-02T08:15:00.000Z"
        case Number():
            if field.required:
                yield from (1, 301)
        case _:
            return


def _rotated(number: int) -> tuple[str, ...]:
    return PAYLOADS[number:] + PAYLOADS[:number]


def _texts(field: Text, number: int, known: Ids) -> Iterator[str]:
    if field.name in IDS:
        # Without a relation, because what it names may be gone.
        yield from known.get(IDS[field.name], [])[number:][:1]
    if field.unique:
        yield PAYLOADS[number]
        yield f"/old/p{number}'onfocus='tripwire({number})"
        return
    # Its own payload; where that is too long another one, which must not be there twice.
    own, *others = _rotated(number)
    fitting = [own, *(f"{each} {number}" for each in others)]
    yield from (each for each in fitting if LONGEST_ID < field.max >= len(each))
    if field.pattern:
        # A currency, a colour, a price of the payment processor.
        yield from ("eur", "#aa0000", f"price_{number}")


IDS = {"webhook_id": "webhook_subscriptions", "member_id": "blog_members"}


def _related(field: Relation | RelationList, number: int, known: Ids) -> Iterator[Any]:
    # None for a relation to its own collection: a reply belongs to the same post.
    found = known.get(field.to, [])
    if found:
        one = found[number % len(found)]
        yield [one] if isinstance(field, RelationList) else one


def _documents(name: str, payload: str, number: int) -> Iterator[Any]:
    """In the shapes that fields of JSON have."""
    address = f"https://example.com/'onfocus='tripwire({number})"
    if name == "content_json":
        yield _text(payload)
    if name == "report":
        yield _report(payload).stored()
    if name == "problems":
        yield [[2, payload]]
    if name == "receipt":
        yield {"erased": {payload: 1}, "kept": {payload: 1}}
    yield [{"label": payload, "url": address}]
    yield [{"language": "de", "url": address}]
    yield {payload: payload}


def _report(payload: str) -> Report:
    """Returns the report of an import."""
    notes = [Note(payload, payload, payload, payload, payload)]
    tally = Tally(1, 1, 1, {payload: 1})
    return Report("ghost", html_only={payload: 1}, posts=tally, warnings=notes, errors=notes)


def _text(payload: str) -> dict[str, Any]:
    """A document of the editor, hostile in every attribute."""
    link = {"type": "link", "attrs": {"href": payload, "title": payload, "target": payload}}
    words = {"type": "text", "text": payload}
    picture = {"src": payload, "alt": payload, "title": payload, "href": payload}
    return {
        "type": "doc",
        "content": [
            {"type": "heading", "attrs": {"level": payload}, "content": [words]},
            {"type": "paragraph", "content": [words, {**words, "marks": [link]}]},
            {"type": "figure", "attrs": picture, "content": [words]},
            {"type": "image", "attrs": picture},
            {"type": "codeBlock", "attrs": {"language": payload}, "content": [words]},
            {"type": "embed", "attrs": {"src": payload}},
            {"type": payload, "attrs": {payload: payload}, "content": [words]},
        ],
    }


def _shown_text(payload: str, number: int) -> dict[str, Any]:
    """A document that the editor can show: the service stores no other snippets."""
    address = f"https://example.com/'onfocus='tripwire({number})"
    link = {"type": "link", "attrs": {"href": address, "title": payload}}
    words = {"type": "text", "text": payload}
    paragraph = {"type": "paragraph", "content": [words, {**words, "marks": [link]}]}
    code = {"type": "codeBlock", "attrs": {"language": payload}, "content": [words]}
    return {"type": "doc", "content": [paragraph, code]}
