"""How HTML is split into text, tags and comments, as a browser does it: one grammar for everything
that reads HTML without building a tree.

The parts are for verbose regular expressions with DOTALL. Texts may be hostile, so no part
backtracks. Whatever is not closed ends with the text.
"""

from __future__ import annotations

from typing import Final

BLANK: Final = r"\t\n\f\r\x20"

TEXT: Final = r"(?:[^<]++|<(?![A-Za-z!?/]))++"
"""Up to the next markup. A `<` before anything else is text."""

ATTRIBUTE: Final = (
    rf"""=?+[^{BLANK}/>=]*+"""
    rf"""(?:[{BLANK}]*+=[{BLANK}]*+"""
    rf"""(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^{BLANK}>"'][^{BLANK}>]*+)?+)?+"""
)
"""A quote begins a value only after an equals sign."""

TAG: Final = rf"""
    <(?P<end>/?)(?P<tag>[A-Za-z][^{BLANK}/>]*+)
    (?P<inside>(?:[{BLANK}/]++|(?=[^>]){ATTRIBUTE})*+)
    (?:>|\Z)
"""

COMMENT: Final = r"<!--(?:-?>|.*?(?:--!?>|\Z))"

IGNORED: Final = r"<[!?/][^>]*+(?:>|\Z)"
"""Declarations, instructions and end tags without a name. After `COMMENT` and `TAG`."""

MARKUP: Final = rf"{COMMENT} | {TAG} | {IGNORED}"

CAREFUL_INSIDE: Final = r"""(?:[^<>"']++|"[^"]*+"|'[^']*+'){0,64}+"""
"""The inside of a tag, for changes of text: it ends at the next `<`, so that a damaged tag is left
as it is instead of taking the text after it along."""
