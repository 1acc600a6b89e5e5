"""A site in a language without a catalog has English words of ours. Its pages say where these are,
so that they run from left to right, and what the owner has written does not."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from lxml import html
from msgspec.structs import replace
from tests.budget import once
from tests.catalogs.extraction import stored_catalog
from tests.faces.reader import samples
from tests.faces.reader.samples import PAGES
from tests.faces.reader.themed import OTHER_THEMES, themed

from masthead.base.languages.translators import LANGUAGES
from masthead.faces.reader.themes import Themes
from masthead.faces.reader.views import Card

THEMES = ("plain", *OTHER_THEMES)
OWN = {
    *(each.title for each in vars(samples).values() if isinstance(each, Card)),
    *(each.excerpt for each in vars(samples).values() if isinstance(each, Card)),
    *(each.label for each in samples.SITE.navigation),
    *(each.name for each in samples.TIERS),
    *(benefit for each in samples.TIERS for benefit in each.benefits),
    *(samples.SITE.name, samples.SITE.description, "harbour", "About", "Video on YouTube"),
    *(text for each in samples.THREAD for text in (each.author, *each.paragraphs)),
}
"""Texts of the owner and of readers."""
_PARTS = re.compile(r"<[^<>]+>")
_GIVEN = re.compile(r"%\(\w+\)[sd]")
_SAYS_SOMETHING = re.compile(r"[A-Za-z]{3}")


@once
def our_words() -> re.Pattern[str]:
    """Each piece of our sentences between two tags, whatever is filled in."""
    found: set[str] = set()
    for message in stored_catalog("de"):
        for said in (message.id,) if isinstance(message.id, str) else message.id:
            for part in _PARTS.split(said):
                if _SAYS_SOMETHING.search(_GIVEN.sub("", part)):
                    pieces = (re.escape(each) for each in _GIVEN.split(part.strip()))
                    found.add(".+".join(pieces))
    return re.compile("|".join(sorted(found)), re.DOTALL)


@pytest.mark.parametrize(
    ("language", "said"),
    [("he", {"lang": "en", "dir": "ltr"}), ("zh-TW", {"lang": "en"})],
)
def test_english_words_say_that_they_are(language: str, said: dict[str, str]) -> None:
    def is_wrong(text: str, attributes: dict[str, str]) -> bool:
        # "Search" is ours on a button, and the owner's in the menu.
        own, ours = text in OWN, our_words().fullmatch(text) is not None
        if own and not ours:
            return attributes.get("lang", language) != language
        return ours and not own and attributes != said

    themes = Themes()
    found = [("plain", name) for name in PAGES]
    found += [(theme, name) for theme in OTHER_THEMES for name in ("home", "page", "home-empty")]
    problems = [
        (theme, name, text)
        for theme, name in found
        for text, attributes in _texts(_drawn(themes, theme, name, language))
        if is_wrong(text, attributes)
    ]
    assert problems == []


def _texts(page: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Each text of a page, and the language that it is said to be in, below that of the page."""
    for text in html.document_fromstring(page).xpath("//body//text()"):
        inside = _parent(text).xpath("ancestor-or-self::*[@lang and not(self::html)][1]")
        attributes = inside[0].attrib if inside else {}
        yield (
            text.strip(),
            {each: attributes[each] for each in ("lang", "dir") if each in attributes},
        )


def _parent(text: object) -> html.HtmlElement:
    """The element that a text is in: the text after an element is not in it."""
    element = text.getparent()  # type: ignore[attr-defined]
    return element.getparent() if text.is_tail else element  # type: ignore[attr-defined]


@pytest.mark.parametrize("language", [*LANGUAGES, "en-GB", "pt-BR", ""])
def test_words_of_a_catalog_need_no_language_of_their_own(language: str) -> None:
    site = replace(samples.SITE, language=language)
    assert (site.words, site.own) == ("", "")


@pytest.mark.parametrize("language", ["en", "ar"])
def test_a_site_with_a_catalog_has_no_element_with_words_of_another_language(
    language: str,
) -> None:
    themes = Themes()
    for name in PAGES:
        page = html.document_fromstring(_drawn(themes, "plain", name, language))
        assert not page.xpath("//body//*[@lang][not(@hreflang)]"), name


def test_a_date_in_an_english_sentence_is_set_apart() -> None:
    themes = Themes()
    assert "Since \u206812 בנוב׳ 2026, 18:40\u2069<" in _drawn(themes, "plain", "account", "he")
    assert "\u2068" not in _drawn(themes, "plain", "account", "ru")


def _drawn(themes: Themes, theme: str, name: str, language: str) -> str:
    template, chrome, page = PAGES[name] if theme == "plain" else themed(theme, name)
    shown = replace(chrome, site=replace(chrome.site, language=language))
    return themes.render(theme, template, shown, page)
