"""The price of a tier, in the site's language."""

from __future__ import annotations

# As the processor counts; all others have two.
_DECIMALS = {
    **dict.fromkeys(("BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA"), 0),
    **dict.fromkeys(("PYG", "RWF", "UGX", "VND", "VUV", "XAF", "XOF", "XPF"), 0),
    **dict.fromkeys(("BHD", "JOD", "KWD", "OMR", "TND"), 3),
}
_SYMBOLS = {"EUR": "€", "GBP": "£", "JPY": "¥", "USD": "$"}
_WITH_POINT = ("en", "he", "hi", "ja", "ko", "ms", "th", "zh")
_NARROW, _UNBROKEN = "\u202f", "\u00a0"


def price_text(amount: int, currency: str, language: str) -> str:
    """`£4.50` in English, `4,50 EUR` elsewhere; without decimals where they are all zero."""
    code, spoken = currency.upper(), language.lower().partition("-")[0]
    decimals = _DECIMALS.get(code, 2)
    whole, part = divmod(amount, 10**decimals)
    number = f"{whole:,}" + (f".{part:0{decimals}}" if part else "")
    if spoken == "en":
        symbol = _SYMBOLS.get(code)
        return f"{symbol}{number}" if symbol else f"{code}{_UNBROKEN}{number}"
    number = number.replace(",", _NARROW)
    if spoken not in _WITH_POINT:
        number = number.replace(".", ",")
    return f"{number}{_UNBROKEN}{code}"
