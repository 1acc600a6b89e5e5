"""A site in a language without a catalog has English words of ours. Its pages say where these are,
so that they run from left to right, and what the owner has written does not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lxml import html
from msgspec.structs import replace
from tests.faces.reader import samples
from tests.faces.reader.samples import PAGES
from tests.faces.reader.themed import OTHER_THEMES, themed

from masthead.base.languages.translators import LANGUAGES, Translator
from masthead.faces.reader.themes import Themes
from masthead.faces.reader.views import Card

THEMES = ("plain", *OTHER_THEMES)
MARK = "\ue000"
OWN = {
    *(each.title for each in vars(samples).values() if isinstance(each, Card)),
    *(each.name for each in samples.TIERS),
    *(benefit for each in samples.TIERS for benefit in each.benefits),
    *(samples.SITE.name, samples.SITE.description, "harbour", "About"),
    *(text for each in samples.THREAD for text in (each.author, *each.paragraphs)),
}
"""Texts of the owner and of readers."""


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> Themes:
    """The themes, with a mark before each English word that they have from us."""
    for name in ("gettext", "ngettext", "pgettext", "npgettext"):
        spoken = getattr(Translator, name)
        monkeypatch.setattr(
            Translator, name, lambda *given, spoken=spoken: f"{MARK}{spoken(*given)}"
        )
    return Themes()


@pytest.mark.parametrize(
    ("language", "said"),
    [("he", {"lang": "en", "dir": "ltr"}), ("zh-TW", {"lang": "en"})],
)
def test_english_words_say_that_they_are(
    marked: Themes, language: str, said: dict[str, str]
) -> None:
    found = [("plain", name) for name in PAGES]
    found += [(theme, name) for theme in OTHER_THEMES for name in ("home", "page", "home-empty")]
    problems = [
        (theme, name, text)
        for theme, name in found
        for text, attributes in _texts(_drawn(marked, theme, name, language))
        if (MARK in text and attributes != said)
        or (text in OWN and attributes.get("lang", language) != language)
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
