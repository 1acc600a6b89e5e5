"""Fields that hold language tags (BCP 47): one form for each language, however it was sent."""

from __future__ import annotations

import re
from typing import Any, Final

from masthead.engine.records.fields.base import refuse
from masthead.engine.records.fields.documents import TextList
from masthead.engine.records.fields.text import Text

MAX_TAG: Final = 35
LANGUAGE_TAG: Final = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
"""BCP 47, as far as sites use it."""
_ALLOWED: Final = "Must be a language tag such as en or pt-BR."


def language_tag(tag: str) -> str:
    """As the standard writes it: `pt-BR`, `zh-Hant-TW`."""
    first, *rest = tag.split("-")
    return "-".join([first.lower(), *map(_subtag, rest)])


def language_tag_in(text: str) -> str:
    """The tag that a value of another system is, such as `pt_BR`; '' if it is none."""
    tag = text.strip().replace("_", "-")
    fits = len(tag) <= MAX_TAG and LANGUAGE_TAG.fullmatch(tag)
    return language_tag(tag) if fits else ""


def _subtag(part: str) -> str:
    if part.isalpha() and len(part) in (2, 4):
        return part.upper() if len(part) == 2 else part.title()
    return part.lower()


class LanguageTag(Text, frozen=True, kw_only=True):
    max: int = MAX_TAG
    pattern: re.Pattern[str] | None = LANGUAGE_TAG
    allowed: str = _ALLOWED

    def parse(self, value: Any) -> str:
        return language_tag(super().parse(value))


class LanguageTags(TextList, frozen=True, kw_only=True):
    max_items: int = 20
    max_length: int = MAX_TAG

    def parse(self, value: Any) -> list[str]:
        return list(dict.fromkeys(map(language_tag, super().parse(value))))

    def _check_item(self, item: str) -> None:
        super()._check_item(item)
        if not LANGUAGE_TAG.fullmatch(item):
            raise refuse("validation_invalid_format", _ALLOWED)
