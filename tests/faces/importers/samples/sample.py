"""An export of our own with what is in it."""

from __future__ import annotations

import io
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from masthead.faces.importers.platforms.exports import open_export
from masthead.faces.importers.platforms.substack.reader import NO_ROW
from masthead.faces.importers.source import BadFile, Options, Skipped

Counts = Mapping[str, int]
"""Counts by kind and status (`page/draft`) or tier (`paid`), or by the reason of leaving out."""

INVALID = "invalid email address"
REPEATED = "same email address as an earlier row"
LEFT_OUT = "left out"
"""For whatever reason, where a sample counts no reasons."""


@dataclass(frozen=True)
class Sample:
    name: str
    """`platform/what it shows`."""
    write: Callable[[Path], Path]
    """Into an empty folder."""
    posts: Counts = field(default_factory=dict)
    members: Counts = field(default_factory=dict)
    refusal: str = ""
    """The message if it is no export that can be read."""

    @property
    def platform(self) -> str:
        return self.name.partition("/")[0]


def as_it_is(path: Path, _: Path) -> Path:
    """For a file that is there already."""
    return path


def a_file(content: bytes | str | Callable[[], bytes], name: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / name
        made = content() if callable(content) else content
        path.write_bytes(made if isinstance(made, bytes) else made.encode())
        return path

    return write


def a_folder(entries: Mapping[str, bytes | str], opened: str = "") -> Callable[[Path], Path]:
    """`opened` is the file that is given to the importer; without it, the folder is."""

    def write(folder: Path) -> Path:
        for name, content in entries.items():
            path = folder / "export" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return folder / "export" / opened

    return write


def packed(entries: Mapping[str, bytes | str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return out.getvalue()


def a_zip(entries: Mapping[str, bytes | str]) -> Callable[[Path], Path]:
    return a_file(packed(entries), "export.zip")


def counts(platform: str, path: Path, options: Options) -> tuple[Counts, Counts]:
    """Posts and members; the same whenever it is read."""
    with closing(open_export(platform, path, options)) as source:
        entries = list(source.posts())
        # Substack's list of posts does not know of texts that are not in it.
        assert source.overview.posts == sum(getattr(e, "reason", "") != NO_ROW for e in entries)
        assert list(source.posts()) == entries
        kept = [each for each in entries if not isinstance(each, Skipped)]
        assert len({each.source_id for each in kept}) == len(kept)
        for each in kept:
            assert not set("\x00\x02\x03\x0b") & set(each.html)
            assert each.old_path.isascii()
            assert not each.old_path or each.old_path.startswith("/")
        posts = Counter(
            each.reason if isinstance(each, Skipped) else f"{each.kind}/{each.status}"
            for each in entries
        )
        members = Counter(
            each.reason if isinstance(each, Skipped) else each.tier for each in source.members()
        )
        return posts, members


def check(sample: Sample, folder: Path, options: Options) -> None:
    path = sample.write(folder)
    if sample.refusal:
        with pytest.raises(BadFile, match=sample.refusal):
            counts(sample.platform, path, options)
        return
    posts, members = counts(sample.platform, path, options)
    if LEFT_OUT in sample.posts:
        kept = {name: number for name, number in posts.items() if "/" in name}
        posts = kept | {LEFT_OUT: sum(posts.values()) - sum(kept.values())}
    assert Counter(posts) == Counter(sample.posts)
    assert Counter(members) == Counter(sample.members)


def cases(samples: list[Sample]) -> list[Any]:
    return [pytest.param(each, id=each.name) for each in samples]
