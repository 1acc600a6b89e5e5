"""Ten posts of an export as they would be stored, for the preview of an import."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from masthead.engine.records.read.plain_text import plain_text
from masthead.faces.importers.write.post_batches import ReadyPost

SAMPLES: Final = 10
MAX_CHARACTERS: Final = 500_000
"""Characters of a sample's text. Longer posts are not shown."""


class Sample(msgspec.Struct, frozen=True):
    collection: str
    """`posts` or `pages`."""
    values: dict[str, Any]
    """The values that a new record would get."""
    pictures: int
    words: int = 0


class Samples:
    """Posts from all over the export, each with the same chance. The same export gives the same
    samples, so that a preview that was interrupted ends with the same ones."""

    def __init__(self) -> None:
        self._chosen: list[tuple[int, Sample]] = []
        self._seen = 0
        self._random = random.Random(0)  # noqa: S311 (nothing secret depends on it)

    def add(self, posts: Iterable[ReadyPost]) -> None:
        for each in posts:
            if (sample := _sample_of(each)) is not None:
                self._add(sample)

    def _add(self, sample: Sample) -> None:
        self._seen += 1
        if len(self._chosen) < SAMPLES:
            self._chosen.append((self._seen, sample))
        elif (place := self._random.randrange(self._seen)) < SAMPLES:
            self._chosen[place] = (self._seen, sample)

    def content(self) -> bytes:
        """The content of the file, in the order of the export. Takes a second for long texts."""
        chosen = sorted(self._chosen, key=lambda each: each[0])
        return msgspec.json.encode([_counted(sample) for _, sample in chosen])


def read_samples(content: bytes) -> list[Sample]:
    return msgspec.json.decode(content, type=list[Sample])


def _counted(sample: Sample) -> Sample:
    html = sample.values["content_html"]
    words = len(plain_text(html, len(html)).split())
    return msgspec.structs.replace(sample, words=words)


def _sample_of(ready: ReadyPost) -> Sample | None:
    draft = ready.draft
    # One that is not valid fails, as the report says.
    if draft is None or ready.checked is None or ready.post.kind == "product":
        return None
    if len(draft.values["content_html"]) > MAX_CHARACTERS:
        return None
    values = {name: value for name, value in draft.values.items() if name not in _LEFT_OUT}
    pictures = draft.values["content_html"].count("<img")
    return Sample(draft.collection.name, {**values, "slug": draft.slug}, pictures)


_LEFT_OUT: Final = frozenset({"content_json", "authors"})
"""Not shown, or not there before the import."""
