"""Archives as an attacker would write them: changed, with checksums that are right again."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from masthead.storage.archives import SUMS, ArchiveWriter

Entries = list[tuple[str, bytes]]


def read_entries(path: Path) -> Entries:
    with tarfile.open(path, "r:") as tar:
        found = []
        for each in tar.getmembers():
            file = tar.extractfile(each)
            assert file is not None
            found.append((each.name, file.read()))
    return [each for each in found if each[0] != SUMS]


def write_entries(path: Path, entries: Entries) -> Path:
    with path.open("wb") as file:
        archive = ArchiveWriter(file, 0)
        for name, content in entries:
            archive.add(name, content)
        archive.finish()
        archive.close()
    return path


def changed(source: Path, target: Path, change: Callable[[Entries], Entries]) -> Path:
    return write_entries(target, change(read_entries(source)))


def with_header(entries: Entries, **values: Any) -> Entries:
    name, content = entries[0]
    header = msgspec.json.decode(content) | values
    return [(name, msgspec.json.encode(header)), *entries[1:]]


def header_of(entries: Entries) -> dict[str, Any]:
    return dict(msgspec.json.decode(entries[0][1]))


def with_rows(entries: Entries, table: str, edit: Callable[[list[Any]], list[Any]]) -> Entries:
    """`edit` gets the rows as dictionaries."""
    columns = header_of(entries)["tables"][table]["columns"]
    found = []
    for name, content in entries:
        if name.startswith(f"tables/{table}/"):
            lines = gzip.decompress(content).splitlines()
            rows = [dict(zip(columns, msgspec.json.decode(each), strict=True)) for each in lines]
            edited = [[each[column] for column in columns] for each in edit(rows)]
            written = b"".join(msgspec.json.encode(each) + b"\n" for each in edited)
            content = gzip.compress(written)
        found.append((name, content))
    return found


def with_value(entries: Entries, table: str, name: str, value: Any) -> Entries:
    def edit(rows: list[Any]) -> list[Any]:
        rows[0][name] = value
        return rows

    return with_rows(entries, table, edit)


def with_member(source: Path, target: Path, **values: Any) -> Path:
    """A tar with another kind of entry before the others."""
    entry = tarfile.TarInfo("objects/media/link")
    for name, value in values.items():
        setattr(entry, name, value)
    content = read_entries(source)
    with target.open("wb") as file:
        first = io.BytesIO()
        archive = ArchiveWriter(first, 0)  # type: ignore[arg-type]
        archive.add(*content[0])
        file.write(first.getvalue())
        file.write(entry.tobuf(tarfile.GNU_FORMAT))
        rest = io.BytesIO()
        archive._file = rest  # type: ignore[assignment]
        for each in content[1:]:
            archive.add(*each)
        archive.finish()
        archive.close()
        file.write(rest.getvalue())
    return target
