"""Declared fields in the words of the reference pages."""

from __future__ import annotations

from masthead.engine.records.fields.base import Field
from masthead.engine.records.fields.documents import Json, TextList
from masthead.engine.records.fields.file import File
from masthead.engine.records.fields.relation import OnDelete, Relation
from masthead.engine.records.fields.relation_list import RelationList
from masthead.engine.records.fields.secrets import Secret
from masthead.engine.records.fields.text import Email, SiteAddress, Slug, Text, Url
from masthead.engine.records.fields.values import Date, Flag, Number, Select
from masthead.features.site.custom_domain import CustomDomain
from masthead.features.webhooks.collection import ReceiverUrl
from masthead.web.openapi import texts


def type_of(field: Field) -> str:
    """The JSON type and its limits."""
    match field:
        case RelationList():
            return f"list of ids in `{field.to}`, up to {field.max_items}"
        case TextList():
            return f"list of up to {field.max_items} texts{_items(field)}"
        case Json():
            return f"JSON, up to {_bytes(field.max_bytes)}"
        case Number():
            return _number(field)
        case Flag():
            return f"true or false; default {str(field.default).lower()}"
        case Select():
            default = f"; default `{field.default}`" if field.default else ""
            return " or ".join(f"`{each}`" for each in field.values) + default
        case Date():
            return "time in UTC"
        case Relation():
            gone = "; deleted with it" if field.on_delete is OnDelete.CASCADE else ""
            return f"id in `{field.to}`{gone}"
        case Text():
            return _text(field)
    return "text, 15 of a–z and 0–9"


def _bytes(count: int) -> str:
    return f"{count // 1024**2} MiB" if count >= 1024**2 else f"{count // 1024} KiB"


def _items(field: TextList) -> str:
    if field.values:
        return ", each the name of an [event](events.md)"
    return f" of up to {field.max_length}"


def _number(field: Number) -> str:
    kind = "whole number" if field.whole else "number"
    limits = [
        f"from {field.min}" if field.min is not None else "",
        f"to {field.max:,}" if field.max is not None else "",
    ]
    default = f"; default {field.default}" if field.default else ""
    empty = ", or null" if field.nullable else ""
    return " ".join([kind, *filter(None, limits)]) + empty + default


def _text(field: Text) -> str:
    kind = next((name for each, name in _KINDS.items() if isinstance(field, each)), "text")
    least = f"{field.min} to " if field.min else "up to "
    unique = ", unique in the site" if field.unique else ""
    return f"{kind}, {least}{field.max:,}{unique}"


_KINDS = {
    Secret: "secret text",
    Email: "email address",
    ReceiverUrl: "https URL",
    Url: "http(s) URL or path",
    SiteAddress: "address on the site's own host",
    Slug: "slug",
    File: "file",
    CustomDomain: "domain name",
}
"""The first one that fits counts."""


def meaning(collection: str, field: Field) -> str:
    """Its own words, else those that the description of the public API has for it."""
    described = texts.fields.get(collection, {}).get(field.name, "")
    words = field.help or described or texts.common_fields.get(field.name, "")
    is_plain = isinstance(field, Text) and not isinstance(field, Slug)
    return f"{words} {field.allowed}".strip() if is_plain else words


def cell(text: str) -> str:
    return text.replace("|", "\\|")
