"""The media library of an export, by the numbers that posts refer to.

It is held in memory for the whole import, so entries are packed and limited.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from masthead.engine.records.read.plain_text import plain_text
from masthead.faces.importers.convert.plain_texts import cut
from masthead.faces.importers.old_paths import old_path
from masthead.faces.importers.platforms.wordpress.items import Item

_MAX_BYTES: Final = 48 * 1024**2
_MAX_COUNT: Final = 300_000
# Quicker than the validation of a field, because it runs for every file of a library.
_ADDRESS: Final = re.compile(r"https?://[^\s\"<>\\\x00-\x20/?#][^\s\"<>\\\x00-\x20]{0,2000}")
_MAX_TEXT: Final = 300
_PICTURES: Final = (".jpg", ".jpeg", ".png", ".gif", ".webp", ".avif", ".svg", ".bmp", ".heic")

ALT: Final = "_wp_attachment_image_alt"


class Attachment(NamedTuple):
    url: str
    alt: str
    caption: str
    title: str
    page: str
    """The path of the page that WordPress made for it; '' for none."""
    above: str
    """The number of the post that it was uploaded to."""

    @property
    def parent(self) -> int | None:
        return as_number(self.above)


class Attachments:
    def __init__(self) -> None:
        self._packed: dict[int, bytes] = {}
        self._pictures_of: dict[int, list[int]] = {}
        self._bytes = 0

    def add(self, item: Item) -> None:
        number, url = as_number(item.get("post_id")), item.get("attachment_url")
        if number is None or not _ADDRESS.fullmatch(url):
            return
        texts = (item.meta.get(ALT, ""), item.get("excerpt"), item.get("title"))
        parent = as_number(item.get("post_parent"))
        page = (old_path(item.get("link")), str(parent or ""))
        packed = "\n".join((url, *(_one_line(text) for text in texts), *page)).encode()
        if self._bytes + len(packed) > _MAX_BYTES or len(self._packed) >= _MAX_COUNT:
            return
        if number in self._packed:
            return
        self._packed[number] = packed
        self._bytes += len(packed)
        if parent and url.partition("?")[0].lower().endswith(_PICTURES):
            self._pictures_of.setdefault(parent, []).append(number)

    def get(self, number: int | None) -> Attachment | None:
        packed = None if number is None else self._packed.get(number)
        return None if packed is None else Attachment(*packed.decode().split("\n"))

    def all(self) -> Iterator[tuple[int, Attachment]]:
        for number, packed in self._packed.items():
            yield number, Attachment(*packed.decode().split("\n"))

    def pictures_of(self, parent: int) -> Sequence[int]:
        """Uploaded to a post: the gallery of a post that lists no pictures."""
        return self._pictures_of.get(parent, ())


def as_number(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _one_line(text: str) -> str:
    if not text:
        return ""
    return cut(" ".join(plain_text(text, _MAX_TEXT).split()), _MAX_TEXT)
