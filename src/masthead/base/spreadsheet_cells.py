"""Cells of CSV files that a spreadsheet program would run as formulas.

Exports put a quote before what a program could take for a formula, so that it shows it as text, and
imports remove that quote again. A formula can begin a cell, or follow a semicolon or a tab: where
numbers have a decimal comma, programs split lines there, also within quotes. What already begins
with quotes gets one more if a formula follows them, so removing one quote always restores the text.
"""

from __future__ import annotations

import re
from typing import Final

_STARTS: Final = r"=+\-@\t\r\n＝＋－＠"
"""How a formula can begin. Programs for Chinese, Japanese and Korean also accept the full-width
signs, and a tab or a line end before the sign may be skipped."""
_PLACE: Final = r"(?:\A|(?<=[;\t]))"
_FORMULA: Final = re.compile(rf"{_PLACE}(?='*[{_STARTS}])")
_GUARDED: Final = re.compile(rf"{_PLACE}'(?='*[{_STARTS}])")


def guard_cell(text: str) -> str:
    """`=1+1` becomes `'=1+1`, and `a;=1+1` becomes `a;'=1+1`."""
    return _FORMULA.sub("'", text)


def guard_start(text: str) -> str:
    """For the HTML of posts and pages, in which a semicolon ends an entity: `&nbsp;- a` stays."""
    return _FORMULA.sub("'", text, count=1) if _FORMULA.match(text) else text


def unguard_cell(text: str) -> str:
    """`'=1+1` becomes `=1+1`; any other text stays."""
    return _GUARDED.sub("", text)
