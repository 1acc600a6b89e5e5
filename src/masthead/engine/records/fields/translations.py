"""The same text in other languages, each with its address."""

from __future__ import annotations

from typing import Any

from masthead.base.languages.words import staff_words
from masthead.engine.records.fields.base import Access, refuse
from masthead.engine.records.fields.documents import Json
from masthead.engine.records.fields.languages import LANGUAGE_TAG, MAX_TAG
from masthead.engine.records.fields.text import is_web_address

MAX_TRANSLATIONS = 50


class Translations(Json, frozen=True, kw_only=True):
    """A list of objects, each with a `language` and a `url`."""

    max_bytes: int = 64 * 1024

    def parse(self, value: Any) -> Any:
        found = super().parse(value)
        if found in (None, []):
            return found
        if not isinstance(found, list) or len(found) > MAX_TRANSLATIONS:
            raise _refused(
                staff_words(
                    "Must be a list of at most %(number)s translations.", number=MAX_TRANSLATIONS
                )
            )
        checked = [_translation(each) for each in found]
        if len({each["language"].lower() for each in checked}) < len(checked):
            raise _refused(staff_words("Each language may appear only once."))
        return checked


def _translation(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or set(value) != {"language", "url"}:
        raise _refused('Each translation must be an object of "language" and "url".')
    language, url = value["language"], value["url"]
    is_tag = isinstance(language, str) and LANGUAGE_TAG.fullmatch(language)
    if not is_tag or len(language) > MAX_TAG:
        raise _refused(staff_words("Each language must be a tag such as en or pt-BR."))
    if not isinstance(url, str) or not is_web_address(url):
        raise _refused(
            staff_words("Each url must be a full http or https URL, or a path that begins with /.")
        )
    return {"language": language, "url": url}


def _refused(message: str) -> Exception:
    return refuse("validation_invalid_format", message)


TRANSLATIONS = Translations(
    name="translations",
    read=Access.SITE,
    help="The same text in other languages: a list of objects with `language` and `url`.",
)
