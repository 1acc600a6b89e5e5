"""Checks that every newsletter's email passes, whatever its post is."""

from __future__ import annotations

import re
from typing import Any, Final

from lxml import html as lxml_html

from masthead.features.mailings.letter import EMAIL, UNSUBSCRIBE_URL, Letter

SITE: Final = "https://coast.example"
_WORD: Final = re.compile(r"[^\W_]+")
_WHOLE: Final = re.compile(r"https?://[^/\s]|mailto:|tel:|sms:|ftp://")
_PLAYS: Final = frozenset({"Play", "the", "video", "sound", "On", "site"})
_FORBIDDEN: Final = (
    *("script", "link", "iframe", "form", "input", "audio", "video", "svg", "object", "picture"),
    *("source", "section", "figure", "details"),
)


def problems(letter: Letter) -> list[str]:
    """Sentences; none for a letter that is as it should be."""
    page = lxml_html.document_fromstring(letter.html)
    return [
        *_elements(page),
        *_links(page),
        *_pictures(page),
        *_styles(page),
        *_words(page, letter),
    ]


def _elements(page: Any) -> list[str]:
    found = [f"it has a {name}" for name in _FORBIDDEN if page.find(f".//{name}") is not None]
    names = [name for each in page.iter() for name in each.attrib if isinstance(each.tag, str)]
    found += [f"it has {name}" for name in names if name.startswith("on") or name == "id"]
    return found


def _links(page: Any) -> list[str]:
    targets = [each.get("href") for each in page.iter("a")]
    wrong = [each for each in targets if not each or not _WHOLE.match(each)]
    found = [f"a link leads to {each!r}" for each in wrong if each != UNSUBSCRIBE_URL]
    return found if UNSUBSCRIBE_URL in targets else [*found, "nobody can unsubscribe"]


def _pictures(page: Any) -> list[str]:
    found = []
    for each in page.iter("img"):
        if not re.match(r"https?://", each.get("src", "")):
            found.append(f"a picture is at {each.get('src')!r}")
        if each.get("alt") is None or not 0 < int(each.get("width") or 0) <= 600:
            found.append(f"a picture has no text or no size: {dict(each.attrib)}")
    return found


def _styles(page: Any) -> list[str]:
    """Gmail's other programs drop style sheets: a paragraph has its own style."""
    bare = [
        each for each in page.xpath("//p|//h1|//h2|//pre|//blockquote") if not each.get("style")
    ]
    return [f"no style: {each.tag} {each.text}" for each in bare]


def _words(page: Any, letter: Letter) -> list[str]:
    """Both parts have the same text."""
    [text] = page.find_class("text")
    in_text = set(_WORD.findall(letter.text))
    shown = _WORD.findall(" ".join(text.itertext()))
    missing = [word for word in shown if word not in in_text and word not in _PLAYS]
    found = [f"the text part lacks {word!r}" for word in missing[:5]]
    return found if EMAIL in letter.text else [*found, "the text part lacks the address"]
