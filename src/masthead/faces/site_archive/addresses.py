"""The addresses of a site in its texts: those of its files get the new ids, and those on the host
of its slug get the new host.

A path on the site itself needs only the new id. A file of another site, or text that only looks
like an address of a file, stays as it is. An address on the site's custom domain keeps it, unless
it is that of a file: until the new installation has proven the domain, it can't answer there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import urlsplit

from masthead.features.media.collection import media

# What may precede an address: the start of the text, a quote, a blank, a bracket and so on.
_START: Final = r"(?<![^\"'\s,(=;>])"
_FILES: Final = rf"(?P<path>/(?:media|api/files/(?:{media.name}|{media.id}))/)"
_ID: Final = r"(?P<id>[a-z0-9]{15})"
_QUICK: Final = ("/media/", f"/{media.id}/")


class Addresses:
    def __init__(
        self,
        hosts: Sequence[str],
        origin: str,
        new_id: Callable[[str], str],
        is_media: Callable[[str], bool],
    ) -> None:
        """`hosts` are those of the old site, that of its slug first. `origin` is the new site's."""
        own = "|".join(re.escape(each) for each in hosts) or "(?!)"
        self._files = re.compile(
            rf"{_START}(?:(?P<scheme>(?:https?:)?)//(?:{own}))?{_FILES}{_ID}(?=/)"
        )
        first = re.escape(hosts[0]) if hosts else "(?!)"
        self._host = re.compile(rf"{_START}(?P<scheme>(?:https?:)?)//{first}(?![A-Za-z0-9.:-])")
        self._first = f"//{hosts[0]}" if hosts else "\0"
        self._origin = origin
        self._netloc = urlsplit(origin).netloc
        self._new_id = new_id
        self._is_media = is_media

    def move(self, text: str) -> str:
        # Quick checks, because most texts have none.
        if any(each in text for each in _QUICK):
            text = self._files.sub(self._moved_file, text)
        return self._host.sub(self._moved_host, text) if self._first in text else text

    def _moved_file(self, match: re.Match[str]) -> str:
        if not self._is_media(match["id"]):
            return match[0]
        host = "" if match["scheme"] is None else self._host_like(match["scheme"])
        return host + match["path"] + self._new_id(match["id"])

    def _moved_host(self, match: re.Match[str]) -> str:
        return self._host_like(match["scheme"])

    def _host_like(self, scheme: str) -> str:
        return self._origin if scheme else f"//{self._netloc}"
