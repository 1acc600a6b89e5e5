"""Sentences of pages about an email that was asked for: without a mail server it is a file, not
sent."""

from __future__ import annotations

from masthead.base.config.settings import Settings
from masthead.base.languages.words import words

STORED = words(
    "This service has no mail server: its emails are files in mail/ of the data directory."
)


def where_stored(settings: Settings) -> str:
    """Where an email is that does not go out; empty where emails are sent."""
    return STORED if settings.smtp_url is None else ""


def being_sent(settings: Settings, what: str, to: str) -> str:
    """The sentence about an email that was queued just now."""
    if settings.smtp_url is None:
        return f"{what} for {to} was written, not sent. {STORED}"
    return f"{what} is being sent to {to}."
