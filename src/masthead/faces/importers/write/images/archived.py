"""Finds files of an export by the addresses that posts use for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from urllib.parse import unquote

import msgspec

from masthead.faces.importers.convert.content import Prepared
from masthead.faces.importers.convert.image_urls import ImageRef, path_of


class Archive(msgspec.Struct, frozen=True, dict=True):
    files: Mapping[str, str]
    """`Overview.files`: from old addresses or paths to names of entries."""
    read: Callable[[str], bytes]
    """`Source.read_file`."""

    def entry_of(self, urls: Iterable[str]) -> str:
        """'' where none of the addresses is in the archive."""
        for url in urls if self.files else ():
            if entry := self._entries.get(url) or self._entries.get(_path(url)):
                return entry
        return ""

    def wanted_by(self, prepared: Prepared) -> list[ImageRef]:
        """Files of the archive that the text plays or links to, apart from its pictures."""
        shown = {url for ref in prepared.images for url in ref.urls}
        return [
            ImageRef(url, (url,), (), prepared.source_id)
            for url in prepared.mentioned
            if url not in shown and self.entry_of((url,))
        ]

    @cached_property
    def _entries(self) -> dict[str, str]:
        return {**{_path(name): entry for name, entry in self.files.items()}, **self.files}


def _path(url: str) -> str:
    return unquote(path_of(url)).lstrip("/")
