"""Fields that no caller can read: password hashes and encrypted settings."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from masthead.base.languages.words import staff_words
from masthead.engine.records.fields.base import Access, FieldError, refuse
from masthead.engine.records.fields.text import Text


class Hash(Text, frozen=True, kw_only=True):
    """A digest or a token key, which only the engine sets."""

    read: Access = Access.ENGINE
    write: Access = Access.ENGINE


class Secret(Text, frozen=True, kw_only=True):
    """Text that an administrator can set but not read back; encrypted at rest."""

    read: Access = Access.ENGINE
    write: Access = Access.ADMIN


class SecretValues(Secret, frozen=True, kw_only=True):
    """Secret texts with names, stored as the text of a JSON object."""

    max: int = 8_000
    max_items: int
    value_pattern: re.Pattern[str] | None = None
    """For descriptions; `check_item` refuses what does not match."""

    def coerce(self, value: Any) -> Any:
        """A form sends `Name: value`, one in each line."""
        if not isinstance(value, str):
            return value
        lines = (line.partition(":") for line in value.splitlines() if line.strip())
        return {name.strip(): text.strip() for name, _, text in lines}

    def check_stored(self, value: Any) -> None:
        """As the text of the object that was sent."""
        try:
            values = msgspec.json.decode(value, type=dict[str, str]) if value else {}
        except (TypeError, msgspec.DecodeError):
            raise _no_values() from None
        self.check(values)

    def parse(self, value: Any) -> str:
        if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
            raise _no_values()
        if len(value) > self.max_items:
            raise refuse(
                "validation_max_items_constraint",
                staff_words("Must be no more than %(max)s item(s).", max=self.max_items),
                max=self.max_items,
            )
        if len({name.lower() for name in value}) < len(value):
            raise refuse("validation_invalid_value", staff_words("Has a name twice."))
        for name, text in value.items():
            self.check_item(name, text)
        return super().parse(msgspec.json.encode(value).decode()) if value else ""

    def check_item(self, name: str, value: str) -> None:
        raise NotImplementedError


def _no_values() -> FieldError:
    return refuse("validation_invalid_type", "Must be an object whose values are texts.")
