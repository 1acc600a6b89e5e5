"""Suggestions for unknown names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def suggestion(name: str, known: Iterable[str]) -> str:
    """The end of a sentence: the most similar name, or all names."""
    names = sorted(known)
    if nearest := difflib.get_close_matches(name, names, n=1):
        return f"did you mean {nearest[0]}?"
    return f"use one of {', '.join(names)}"
