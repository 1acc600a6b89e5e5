"""Checks the values of an archive by the declarations of their fields: an archive may be written by
anyone, and what it holds is shown to readers."""

from __future__ import annotations

import re
from typing import Any, Final

import sqlalchemy as sa

from masthead.base import ids
from masthead.base.errors import MastheadError
from masthead.engine.records.collection import CREATED, UPDATED, Collection, Record
from masthead.engine.records.fields.base import Field, FieldError
from masthead.features.site.custom_domain import CustomDomain
from masthead.storage import dialects
from masthead.storage.objects import InvalidKey, check_key

# What `identity/passwords.py` writes: other parameters could take hours and gigabytes to verify.
_PASSWORD: Final = re.compile(
    r"\$argon2id\$v=19\$m=(?:[1-9][0-9]{0,4}|1[0-3][0-9]{4}),t=[1-9],p=[1-4]"
    r"\$[A-Za-z0-9+/]{1,90}\$[A-Za-z0-9+/]{1,90}"
)
_LARGEST: Final = 2**63 - 1


class BadValue(MastheadError):
    """The message names the field."""


def check_record(collection: Collection, record: Record) -> None:
    if not ids.is_id(record["id"]):
        raise _bad(collection.name, "id", "Must be 15 characters of a-z and 0-9.")
    version = record["version"]
    if not isinstance(version, int) or not 0 < version <= _LARGEST:
        raise _bad(collection.name, "version", "Must be a number.")
    for field in (*collection.fields, CREATED, UPDATED):
        check_field(collection, field, record[field.name])
    _check_special(collection, record)


def check_field(collection: Collection, field: Field, value: Any) -> None:
    # An empty value may be older than the rule that requires one.
    if field.is_empty(value):
        return
    try:
        field.check_stored(value)
    except FieldError as error:
        raise _bad(collection.name, field.name, error.problem.message) from error


def without_platform_domains(collection: Collection, settings: Record) -> Record:
    """The domains of a site that belong to this platform are none of its own."""
    found = [each for each in collection.fields if isinstance(each, CustomDomain)]
    return {each.name: "" for each in found if not _is_valid(each, settings[each.name])}


def _is_valid(field: Field, value: Any) -> bool:
    try:
        field.check(value)
    except FieldError:
        return False
    return True


def _check_special(collection: Collection, record: Record) -> None:
    hashed = record.get("password_hash") if collection.is_auth else ""
    if hashed and not _PASSWORD.fullmatch(hashed):
        raise _bad(collection.name, "password_hash", "Must be a hash of Masthead's own.")
    for name in collection.files:
        _check_file(collection, name, record[name])


def _check_file(collection: Collection, name: str, value: str) -> None:
    try:
        check_key(value)
    except InvalidKey as error:
        raise _bad(collection.name, name, error.message) from error
    if "/" in value:
        raise _bad(collection.name, name, "Must be the name of a file.")


def check_row(table: sa.Table, row: Record) -> None:
    """Checks a row of a table that holds no records."""
    for column in table.columns:
        if not _has_type(column, row[column.name]):
            raise _bad(str(table.name), str(column.name), "Has another type.")


def _has_type(column: sa.Column[Any], value: Any) -> bool:
    if value is None:
        return bool(column.nullable)
    kind = column.type
    if isinstance(kind, dialects.Integer):
        return type(value) is int and -_LARGEST <= value <= _LARGEST
    if isinstance(kind, dialects.Flag):
        return isinstance(value, bool)
    return isinstance(value, str) and "\0" not in value


def _bad(table: str, field: str, problem: str) -> BadValue:
    return BadValue(
        f"The archive has a value that can't be stored, in {table}.{field}: {problem} "
        "Nothing was imported."
    )
