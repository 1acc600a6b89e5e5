"""Finds and replaces the addresses of a tenant's own media files in a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from masthead.engine.records.collection import Record
from masthead.features.media.collection import file_names


class MediaLink(msgspec.Struct, frozen=True):
    written: str
    """As written in the text."""
    path: str
    """Path and query."""
    media_id: str
    name: str
    is_relative: bool


class MediaLinks:
    """A link starts at the start of the text or after a quote, a blank, a comma or such. The same
    characters inside another address are no link."""

    def __init__(self, hosts: Iterable[str]) -> None:
        own = "|".join(re.escape(host) for host in sorted(hosts))
        self._pattern = re.compile(
            r"(?<![^\"'\s,(=;])"
            rf"(?P<origin>(?:https?:)?//(?:{own}))?"
            r"(?P<path>/(?:media|api/files/media)/(?P<id>[a-z0-9]{15})/(?P<name>[A-Za-z0-9._-]+)"
            r"(?:\?[A-Za-z0-9=&;_.%-]*)?)"
        )

    def find(self, text: str) -> Iterator[MediaLink]:
        # A quick check, because most texts have none.
        if "/media/" in text:
            yield from map(_link, self._pattern.finditer(text))

    def replace(
        self, text: str, found: Mapping[str, Record], address: Callable[[MediaLink, Record], str]
    ) -> str:
        """Leaves links to media that are not in `found` unchanged."""

        def replaced(match: re.Match[str]) -> str:
            link = _link(match)
            item = found.get(link.media_id)
            if item is None or link.name not in file_names(item):
                return link.written
            return address(link, item)

        return self._pattern.sub(replaced, text) if "/media/" in text else text


def _link(match: re.Match[str]) -> MediaLink:
    return MediaLink(match[0], match["path"], match["id"], match["name"], match["origin"] is None)
