"""Prices in the words of the site's language."""

from __future__ import annotations

import pytest

from masthead.faces.reader.prices import price_text


@pytest.mark.parametrize(
    ("amount", "currency", "language", "text"),
    [
        (400, "gbp", "en-GB", "£4"),
        (450, "EUR", "en", "€4.50"),
        (405, "usd", "en-US", "$4.05"),
        (123_456_700, "usd", "en", "$1,234,567"),
        (500, "jpy", "en", "¥500"),
        (500, "chf", "en", "CHF\u00a05"),
        (1_500, "kwd", "en", "KWD\u00a01.500"),
        (400, "eur", "de", "4\u00a0€"),
        (450, "eur", "pt-BR", "€\u00a04,50"),
        (120_050, "eur", "de-AT", "€\u00a01.200,50"),
        (450, "eur", "fr", "4,50\u00a0€"),
        (450, "eur", "ar", "\u200f4.50\u00a0€\u200e"),
        (400, "gbp", "ar", "\u200f4\u00a0UK£\u200e"),
        (1_200, "jpy", "ja", "￥1,200"),
        (450, "eur", "tlh", "€4.50"),
        (450, "usd", "ja", "$4.50"),
    ],
)
def test_a_price_is_written_as_readers_know_it(
    amount: int, currency: str, language: str, text: str
) -> None:
    assert price_text(amount, currency, language) == text
