"""Words in the source that a reader may see in another language.

`words("Choose a tier.")` is English text for APIs, logs and comparisons. Where it is shown (by
`str()`, in an f-string, in a template) it is in the language that is spoken there. So a constant or
an error can hold words, and the code that shows them need not know where they come from. Extraction
finds the calls by their names: the message is always a literal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from masthead.base.languages.translators import spoken_now

if TYPE_CHECKING:
    from markupsafe import Markup


class Words(str):
    __slots__ = ("_context", "_many", "_message", "_number", "_values")

    _context: str
    _message: str
    _many: str
    _number: int
    _values: Mapping[str, object]

    def __new__(
        cls,
        message: str,
        values: Mapping[str, object],
        *,
        many: str = "",
        number: int = 1,
        context: str = "",
    ) -> Words:
        text = many if many and number != 1 else message
        # `%` makes text of values in the language that is spoken, which may be another one later.
        self = super().__new__(cls, text % values)
        self._message, self._many, self._number = message, many, number
        self._context, self._values = context, values
        return self

    def __str__(self) -> str:
        return self._text() % self._values

    def __format__(self, specification: str) -> str:
        return format(str(self), specification)

    def __html__(self) -> Markup:
        # Imported here: few commands show a page.
        from markupsafe import escape

        return escape(str(self))

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)

    def _text(self) -> str:
        translator = spoken_now()
        if self._many and self._context:
            return translator.npgettext(self._context, self._message, self._many, self._number)
        if self._many:
            return translator.ngettext(self._message, self._many, self._number)
        if self._context:
            return translator.pgettext(self._context, self._message)
        return translator.gettext(self._message)


def words(message: str, /, **values: object) -> str:
    """`%(name)s` in the message stands for a value; `%%` for a percent sign."""
    return Words(message, values)


staff_words = words
"""The same for words that no reader sees: they are in the admin's catalog."""


def as_text(value: object) -> str:
    """Hook of JSON encoders, which know no kinds of `str`: words become text in the language that
    is spoken."""
    if isinstance(value, Words):
        return str(value)
    raise TypeError(f"{type(value).__name__} can't be written as JSON.")


def marked(message: str) -> str:
    """A message that `Words` is made of later."""
    return message


staff_marked = marked


def both_numbers(one: str, many: str) -> tuple[str, str]:
    """The messages for one and for many that `counted` gets later."""
    return one, many


def counted(one: str, many: str, number: int, /, **values: object) -> str:
    """The words for a number of things: `%(number)s` in both is the number."""
    return Words(one, {"number": number, **values}, many=many, number=number)


staff_counted = counted


def words_in(context: str, message: str, /, **values: object) -> str:
    """Words that are the same in English for different things: the context tells them apart."""
    return Words(message, values, context=context)
