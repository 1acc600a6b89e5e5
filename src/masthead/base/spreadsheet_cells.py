"""Cells of CSV files that a spreadsheet program would run as formulas.

Exports put a quote before such a cell, so that the program shows it as text, and imports remove
that quote again. A cell that already begins with quotes gets one more if a formula follows them, so
removing one quote always restores the text.
"""

from __future__ import annotations

import re
from typing import Final

_STARTS: Final = r"=+\-@\t\r\n＝＋－＠"
"""How a formula can begin. Programs for Chinese, Japanese and Korean also accept the full-width
signs, and a tab or a line end before the sign may be skipped."""
_FORMULA: Final = re.compile(rf"'*[{_STARTS}]")
_GUARDED: Final = re.compile(rf"'(?='*[{_STARTS}])")


def guard_cell(text: str) -> str:
    """`=1+1` becomes `'=1+1`."""
    return f"'{text}" if _FORMULA.match(text) else text


def unguard_cell(text: str) -> str:
    """`'=1+1` becomes `=1+1`; any other text stays."""
    return text[1:] if _GUARDED.match(text) else text
