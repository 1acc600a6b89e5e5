"""Sentences of pages about an email that was asked for: without a mail server it is a file, not
sent."""

from __future__ import annotations

from masthead.base.config.settings import Settings
from masthead.base.languages.words import staff_words, words

STORED = words(
    "This service has no mail server: its emails are files in mail/ of the data directory."
)


def where_stored(settings: Settings) -> str:
    """Where an email is that does not go out; empty where emails are sent."""
    return STORED if settings.smtp_url is None else ""


def being_sent(settings: Settings, what: str, to: str) -> str:
    """The sentence about an email that was queued just now."""
    if settings.smtp_url is None:
        written = staff_words("%(what)s for %(email)s was written, not sent.", what=what, email=to)
        return f"{written} {STORED}"
    return staff_words("%(what)s is being sent to %(email)s.", what=what, email=to)
