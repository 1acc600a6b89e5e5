"""Paths with `..`, which browsers resolve even if it is encoded."""

from __future__ import annotations

import re

_DOT_SEGMENT = re.compile(r"/(?:\.|%2e){1,2}(?:/|\Z)", re.IGNORECASE)


def has_dot_segment(url: str) -> bool:
    """In its path; a query may hold whatever it likes."""
    path = url.partition("?")[0].partition("#")[0]
    return _DOT_SEGMENT.search(path) is not None
