"""A collection's declaration in the shape of PocketBase's collections, for type generators."""

from __future__ import annotations

import zlib
from typing import Any

from masthead.engine.records.collection import CREATED, ID, UPDATED, Collection
from masthead.engine.records.fields.base import Access, Field
from masthead.engine.records.fields.documents import Json
from masthead.engine.records.fields.file import File
from masthead.engine.records.fields.relation import OnDelete, Relation
from masthead.engine.records.fields.relation_list import RelationList
from masthead.engine.records.fields.text import Email, SiteAddress, Text, Url
from masthead.engine.records.fields.values import Date, Flag, Number, Select
from masthead.engine.records.registry import Registry
from masthead.identity.accounts import session_lifetime

Shape = dict[str, Any]

_PASSWORD: Shape = {
    "id": f"password{zlib.crc32(b'password')}",
    "name": "password",
    "type": "password",
    "system": True,
    "hidden": True,
    "presentable": False,
    "required": True,
    "help": "",
    "min": 8,
    "max": 0,
    "pattern": "",
    "cost": 0,
}


_ID_OPTIONS: Shape = {
    "min": 15,
    "max": 15,
    "pattern": "^[a-z0-9]+$",
    "autogeneratePattern": "[a-z0-9]{15}",
    "primaryKey": True,
}


def schema_of(registry: Registry, collection: Collection, access: Access) -> Shape:
    """With the fields that the caller may read."""
    rules = collection.rules
    fields = [_field(registry, each) for each in collection.readable(access).values()]
    shape: Shape = {
        "id": collection.id,
        "name": collection.name,
        "type": "auth" if collection.is_auth else "base",
        "system": collection.name.startswith("_"),
        "listRule": rules.read,
        "viewRule": rules.read,
        "createRule": rules.create,
        "updateRule": rules.update,
        "deleteRule": rules.delete,
        "fields": [*fields, _PASSWORD] if collection.is_auth else fields,
        "indexes": _indexes(collection),
        # Collections are part of the program: they have no dates of their own.
        "created": "",
        "updated": "",
    }
    return {**shape, **_accounts(collection)} if collection.is_auth else shape


def _accounts(collection: Collection) -> Shape:
    return {
        "authRule": "",
        "manageRule": None,
        "passwordAuth": {"enabled": True, "identityFields": ["email"]},
        "oauth2": {"enabled": False, "providers": []},
        "mfa": {"enabled": False, "duration": 0, "rule": ""},
        "otp": {"enabled": False, "duration": 0, "length": 0},
        "authToken": {"duration": int(session_lifetime(collection).total_seconds())},
    }


def _field(registry: Registry, field: Field) -> Shape:
    kind, options = _kind(registry, field)
    return {
        "id": f"{kind}{zlib.crc32(field.name.encode())}",
        "name": field.name,
        "type": kind,
        "system": field in (ID, CREATED, UPDATED),
        "hidden": False,
        "presentable": False,
        "required": field.required or field is ID,
        "help": field.help,
        **options,
    }


def _kind(registry: Registry, field: Field) -> tuple[str, Shape]:
    """PocketBase's type of a field and the options of that type."""
    if field is ID:
        return "text", _ID_OPTIONS
    match field:
        case Relation() | RelationList():
            return "relation", _relation(registry, field)
        case Json():
            return "json", {"maxSize": field.max_bytes}
        case File():
            return "file", _file(field)
        case Email() | Url():
            name = "email" if isinstance(field, Email) else "url"
            return name, {"exceptDomains": [], "onlyDomains": []}
        case SiteAddress():
            return "url", {"exceptDomains": [], "onlyDomains": []}
        case Text():
            return "text", _text(field)
        case Select():
            return "select", {"values": list(field.values), "maxSelect": 1}
        case Number():
            return "number", {"min": field.min, "max": field.max, "onlyInt": field.whole}
        case Flag():
            return "bool", {}
        case Date() if field in (CREATED, UPDATED):
            return "autodate", {"onCreate": True, "onUpdate": field is UPDATED}
        case Date():
            return "date", {"min": "", "max": ""}
    raise TypeError(f"{type(field).__name__} has no counterpart in PocketBase")


def _relation(registry: Registry, field: Relation | RelationList) -> Shape:
    return {
        "collectionId": registry[field.to].id,
        "cascadeDelete": isinstance(field, Relation) and field.on_delete is OnDelete.CASCADE,
        "minSelect": 0,
        "maxSelect": field.max_items if isinstance(field, RelationList) else 1,
    }


def _file(field: File) -> Shape:
    return {
        "maxSelect": 1,
        "maxSize": 0,
        "mimeTypes": [],
        "thumbs": list(field.thumbs),
        "protected": False,
    }


def _text(field: Text) -> Shape:
    return {
        "min": field.min,
        "max": field.max,
        "pattern": field.pattern.pattern if field.pattern else "",
        "autogeneratePattern": "",
        "primaryKey": False,
    }


def _indexes(collection: Collection) -> list[str]:
    """The unique ones, which say what a type generator may take for a key within a site."""
    unique: list[tuple[str, ...]] = [(each.name,) for each in collection.fields if each.unique]
    unique += [each.fields for each in collection.indexes if each.unique]
    return [
        f"CREATE UNIQUE INDEX `idx_{collection.name}_{'_'.join(names)}` "
        f"ON `{collection.name}` ({', '.join(f'`{name}`' for name in names)})"
        for names in unique
    ]
