"""ETags, made of a record's or a tenant's version, and conditional requests."""

from __future__ import annotations

import re

from masthead.errors import Conflict

MAX_BYTES = 4096
"""Of a header with ETags: more than a browser or a proxy sends."""
_MAX_DIGITS = 20
_TAG = re.compile(r'(?:W/)?"([^"]*)"')


def etag(version: int) -> bytes:
    return b'"%d"' % version


def is_unchanged(if_none_match: str | None, tag: bytes) -> bool:
    """For GET: the client has this response already."""
    if if_none_match is None or len(if_none_match) > MAX_BYTES:
        return False
    if if_none_match.strip() == "*":
        return True
    wanted = tag.decode().strip('"')
    return wanted in _TAG.findall(if_none_match)


def expected_version(if_match: str | None) -> int | None:
    """For changes: the version that the client expects. `*` only expects the record to exist.

    A header without a version of ours never matches. Weak tags are accepted as well: a proxy that
    compresses responses makes ours weak.
    """
    if if_match is None or if_match.strip() == "*":
        return None
    tags = _TAG.findall(if_match[:MAX_BYTES])
    if len(tags) != 1 or not _is_version(tags[0]):
        raise Conflict("The If-Match header names no version of this record. Read it again.")
    return int(tags[0])


def _is_version(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS
