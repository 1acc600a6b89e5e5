"""Fields that hold JSON: free documents and lists of short texts."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import msgspec
from sqlalchemy import Column, text

from masthead.base.languages.words import as_text, staff_words
from masthead.engine.records.fields.base import Decoder, Field, refuse
from masthead.storage import dialects

MAX_BYTES = 2 * 1024 * 1024

# After an even number of backslashes, which are escaped backslashes themselves.
_ESCAPED_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


def _raw(stored: Any) -> Any:
    """JSON text is copied into an answer without decoding it."""
    return None if stored is None else msgspec.Raw(stored.encode())


def decode_json(stored: Any) -> Any:
    return None if stored is None else msgspec.json.decode(stored)


class Json(Field, frozen=True, kw_only=True):
    max_bytes: int = MAX_BYTES

    kind: ClassVar[str] = "json"
    decode: ClassVar[Decoder | None] = staticmethod(decode_json)
    present: ClassVar[Decoder | None] = staticmethod(_raw)

    @property
    def is_long(self) -> bool:
        return self.kind == "json"

    def column(self) -> Column[Any]:
        return Column(self.name, dialects.Json(), nullable=True)

    def empty(self) -> Any:
        return None

    def coerce(self, value: Any) -> Any:
        """A form sends JSON as text. Text that is not JSON becomes a JSON string."""
        if not isinstance(value, str):
            return value
        if not value.strip():
            return None
        try:
            return msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            return value

    def parse(self, value: Any) -> Any:
        if len(self._written(value)) > self.max_bytes:
            raise refuse(
                "validation_json_size_limit",
                f"Must be no more than {self.max_bytes} bytes of JSON.",
                max=self.max_bytes,
            )
        return value

    def encode(self, value: Any) -> Any:
        return None if value is None else self._written(value).decode()

    def _written(self, value: Any) -> bytes:
        try:
            written = msgspec.json.encode(value, enc_hook=as_text)
        except (TypeError, ValueError, RecursionError, UnicodeError) as error:
            raise refuse("validation_invalid_json", "Must be a JSON value.") from error
        # jsonb refuses an escaped NUL, and no text column could hold it either.
        if b"\\u0000" in written and _ESCAPED_NUL.search(written):
            raise refuse(
                "validation_invalid_json",
                "Contains a NUL character, which can't be stored. Remove it.",
            )
        return written


class TextList(Json, frozen=True, kw_only=True):
    """Tags and the like: a list of distinct short texts, in the order given."""

    max_items: int = 100
    max_length: int = 100
    values: tuple[str, ...] = ()
    indexed: bool = False
    """Records can be found by an item through an index."""

    kind: ClassVar[str] = "list"

    def column(self) -> Column[Any]:
        return Column(self.name, dialects.Json(), nullable=False, server_default=text("'[]'"))

    def empty(self) -> Any:
        return []

    def coerce(self, value: Any) -> Any:
        value = super().coerce(value)
        return [value] if isinstance(value, str) else value

    def parse(self, value: Any) -> list[str]:
        if not isinstance(value, list):
            raise refuse("validation_invalid_type", "Must be a list of texts.")
        for item in value:
            if not isinstance(item, str):
                raise refuse("validation_invalid_type", "Must be a list of texts.")
        # Repeats count, too: a description can't say otherwise.
        if len(value) > self.max_items:
            raise refuse(
                "validation_max_items_constraint",
                staff_words("Must be no more than %(max)s item(s).", max=self.max_items),
                max=self.max_items,
            )
        items = list(dict.fromkeys([item.strip() for item in value]))
        for item in items:
            self._check_item(item)
        super().parse(items)
        return items

    def _check_item(self, item: str) -> None:
        if not item:
            raise refuse("validation_required", staff_words("An item cannot be blank."))
        if len(item) > self.max_length:
            raise refuse(
                "validation_max_text_constraint",
                staff_words(
                    "Each item must be no more than %(max)s character(s).", max=self.max_length
                ),
                max=self.max_length,
            )
        if self.values and item not in self.values:
            raise refuse(
                "validation_invalid_value",
                staff_words("Each item must be one of: %(names)s.", names=", ".join(self.values)),
            )
