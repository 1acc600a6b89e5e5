"""Reads the attributes of a card's node, from untrusted JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from masthead.engine.records.safe_addresses import safe_link, safe_source

LONGEST_TITLE: Final = 500
LONGEST_TEXT: Final = 2_000
LONGEST_ADDRESS: Final = 4_000


class WrongCard(Exception):
    """An attribute can't be taken. The message is a sentence for the author."""


def one_line(text: str) -> str:
    """As browsers show it, without characters that HTML can't hold."""
    return " ".join("".join(each if each >= " " else " " for each in text).split())


def text_in(given: Mapping[str, Any], name: str, most: int = LONGEST_TEXT) -> str:
    value = given.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise WrongCard(f"{name} must be text.")
    if len(value) > most:
        raise WrongCard(f"{name} may have {most:,} characters.")
    return one_line(value)


def link_in(given: Mapping[str, Any], name: str) -> str:
    return _address(given, name, safe_link, "an address, such as https://example.org")


def source_in(given: Mapping[str, Any], name: str) -> str:
    """The address of a file that a page loads."""
    return _address(given, name, safe_source, "the address of a file, with https or of this site")


def _address(given: Mapping[str, Any], name: str, safe: Callable[[str], str], what: str) -> str:
    value = given.get(name)
    if value is None or value == "":
        return ""
    address = safe(value) if isinstance(value, str) and len(value) <= LONGEST_ADDRESS else ""
    if not address:
        raise WrongCard(f"{name} must be {what}.")
    return one_line(address).replace(" ", "%20")


def number_in(given: Mapping[str, Any], name: str, most: int) -> int:
    """0 for none."""
    value = given.get(name)
    if value is None:
        return 0
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise WrongCard(f"{name} must be a whole number up to {most:,}.")
    return value


def required(name: str, value: str) -> str:
    if not value:
        raise WrongCard(f"{name} is missing.")
    return value


def filled(**values: Any) -> dict[str, Any]:
    """Without those that are empty."""
    return {name: value for name, value in values.items() if value}
