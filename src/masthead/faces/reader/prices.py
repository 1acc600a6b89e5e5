"""The price of a tier, as a language writes it."""

from __future__ import annotations

from copy import copy
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING

from masthead.base.languages.formats import locale_of
from masthead.base.languages.translators import primary_language

if TYPE_CHECKING:
    from babel import Locale

# As the processor counts; all others have two.
_DECIMALS = {
    **dict.fromkeys(("BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA"), 0),
    **dict.fromkeys(("PYG", "RWF", "UGX", "VND", "VUV", "XAF", "XOF", "XPF"), 0),
    **dict.fromkeys(("BHD", "JOD", "KWD", "OMR", "TND"), 3),
}
_SYMBOLS = {"EUR": "€", "GBP": "£", "JPY": "¥", "USD": "$"}
_UNBROKEN = "\u00a0"
_LEFT_TO_RIGHT = "\u200e"


@lru_cache(maxsize=4_096)
def price_text(amount: int, currency: str, language: str) -> str:
    """`£4.50` in English, `4,50 €` in German; without decimals where they are all zero."""
    code = currency.upper()
    decimals = _DECIMALS.get(code, 2)
    whole, part = divmod(amount, 10**decimals)
    locale = None if primary_language(language) == "en" else locale_of(language)
    if locale is not None:
        value = Decimal(amount).scaleb(-decimals)
        return _in_locale(value, code, locale, decimals if part else 0)
    number = f"{whole:,}" + (f".{part:0{decimals}}" if part else "")
    symbol = _SYMBOLS.get(code)
    return f"{symbol}{number}" if symbol else f"{code}{_UNBROKEN}{number}"


def _in_locale(value: Decimal, code: str, locale: Locale, decimals: int) -> str:
    pattern = copy(locale.currency_formats["standard"])
    pattern.frac_prec = (decimals, decimals)
    text = str(pattern.apply(value, locale, currency=code, currency_digits=False))
    # The sign after the letters of `UK£` would be to their left.
    return f"{text}{_LEFT_TO_RIGHT}" if locale.text_direction == "rtl" else text
