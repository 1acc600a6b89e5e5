"""Variants of an email address in free text."""

from __future__ import annotations

import html
import unicodedata
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead.base.email_address import normal_email
from masthead.features.privacy.email_variants import common_variants, email_pattern

ASCII = "ada.lovelace+news@engines.example"
WRITTEN = "jörg@bücher.example"
STORED = normal_email(WRITTEN)


def nfd(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def entities(text: str) -> str:
    return "".join(f"&#{ord(each)};" for each in text)


def hexadecimal(text: str) -> str:
    return "".join(f"&#x{ord(each):X};" for each in text)


@pytest.mark.parametrize(
    "written",
    [
        ASCII,
        ASCII.upper(),
        "Ada.Lovelace+News@Engines.EXAMPLE",
        ASCII.replace("@", "%40"),
        ASCII.replace("@", "&#64;"),
        ASCII.replace("@", "&#x40;"),
        ASCII.replace("@", "&#064;"),
        ASCII.replace("@", "&commat;"),
        ASCII.replace("@", "\uff20"),
        ASCII.replace(".example", "\u3002example"),
        quote(ASCII),
        quote(ASCII.upper(), safe=""),
        entities(ASCII),
        entities(ASCII.title()),
        hexadecimal(ASCII),
        html.escape(ASCII),
    ],
)
def test_an_ascii_address_is_found(written: str) -> None:
    _is_found(ASCII, written)


@pytest.mark.parametrize(
    "written",
    [
        STORED,
        STORED.upper(),
        WRITTEN,
        WRITTEN.upper(),
        nfd(WRITTEN),
        nfd(WRITTEN.upper()),
        nfd("jörg") + "@bücher.example",
        "jörg@" + nfd("bücher.example"),
        quote(WRITTEN),
        quote(WRITTEN).lower(),
        quote(nfd(WRITTEN)),
        "j%C3%B6rg%40xn--bcher-kva.example",
        entities(WRITTEN),
        entities(nfd(WRITTEN)),
        hexadecimal(WRITTEN.upper()),
        WRITTEN.replace("@", "&#64;"),
    ],
)
def test_an_address_beyond_ascii_is_found(written: str) -> None:
    _is_found(STORED, written)


def _is_found(email: str, written: str) -> None:
    for text in (
        f"Write to {written}.",
        f"mailto:{written}?subject=x",
        f"to=%20{written}%20",
        f"_{written}_",
        f"\\n{written}\\n",
        f"<{written}>, <{written}>",
    ):
        found = email_pattern(email)
        assert found.is_in(text), text
        count = text.count(written)
        assert found.replaced(text, "X") == text.replace(written, "X"), text
        assert count


@pytest.mark.parametrize(
    "other",
    [
        "canada.lovelace+news@engines.example",
        "ada.lovelace+news@engines.examples",
        "ada.lovelace+news@engines.example-two",
        "ada.lovelace@engines.example",
        "adaXlovelace+news@engines.example",
        "ada.lovelace+news at engines.example",
    ],
)
def test_another_address_stays(other: str) -> None:
    found = email_pattern(ASCII)
    assert not found.is_in(other)
    assert found.replaced(other, "X") == other


@given(st.emails())
def test_every_address_is_found_in_every_way(address: str) -> None:
    email = normal_email(address)
    for written in (email, email.upper(), quote(email, safe=""), entities(email)):
        assert email_pattern(email).is_in(f"({written})")


def test_the_database_searches_for_what_programs_write() -> None:
    assert common_variants(ASCII) == sorted(
        [ASCII, ASCII.replace("@", "%40"), ASCII.replace("@", "&#64;")]
    )
    likely = common_variants(STORED)
    assert {STORED, WRITTEN, nfd(WRITTEN), WRITTEN.replace("@", "%40")} <= set(likely)
