"""A browser's name in a few words, for lists of sign-ins and emails about them."""

from __future__ import annotations

from masthead.base.languages.words import words

# The first that is in the text counts: many browsers name others, too.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox", "Firefox"),
    ("FxiOS", "Firefox"),
    ("Chrome", "Chrome"),
    ("CriOS", "Chrome"),
    ("Safari", "Safari"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Mac OS X", "Mac"),
    ("Linux", "Linux"),
)
_UNKNOWN = words("An unknown browser")
_MAX_LENGTH = 40


def browser_name(user_agent: str) -> str:
    """`Firefox on Linux`; another program's own name, cut short."""
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), "")
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), "")
    if browser and system:
        return words("%(browser)s on %(system)s", browser=browser, system=system)
    return browser or user_agent[:_MAX_LENGTH].strip() or _UNKNOWN
