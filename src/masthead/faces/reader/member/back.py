"""Where a reader came from: a path of the same site, and nothing else."""

from __future__ import annotations

import re

from masthead.web.dot_segments import has_dot_segment

HOME = "/"
MAX_LENGTH = 500

# Browsers read a backslash as a slash and skip tabs and line breaks, so `/\t/evil.example` would
# name another host.
_PATH = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f-\xa0\u2028\u2029]*")
_NOT_AGAIN = "/member/"
_MEMBERS_OWN = (
    "/member/account",
    "/member/tiers",
    "/member/offer/",
    "/member/gift",
    "/member/redeem",
)


def back_path(text: str) -> str:
    """`text` if it is a path to return to, else the home page."""
    if len(text) > MAX_LENGTH or not _PATH.fullmatch(text) or has_dot_segment(text):
        return HOME
    if text.startswith(_NOT_AGAIN) and not text.startswith(_MEMBERS_OWN):
        return HOME
    return text
