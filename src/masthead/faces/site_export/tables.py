"""Posts and members as CSV, with cells that a spreadsheet program does not run as formulas."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import IO, BinaryIO

from masthead.base import clock
from masthead.base.spreadsheet_cells import guard_cell, guard_start
from masthead.engine.records.collection import Record
from masthead.faces.site_export.archive import Archive, in_thread
from masthead.faces.site_export.content import Content

_MEMBERS = (
    *("email", "name", "tier", "status", "newsletter", "payment_customer_id", "created", "id"),
    *("tier_name", "language"),
)
_TEXTS = (
    *("title", "slug", "status", "visibility", "published_at", "tags", "excerpt"),
    *("content_html", "featured_image", "seo_title", "seo_description", "created", "updated", "id"),
    *("email_only", "tiers", "language"),
)


async def write_tables(content: Content, file: BinaryIO) -> None:
    with Archive(file, clock.from_text(content.blog.now)) as archive:
        with archive.entry("members.csv") as entry:
            write_row(entry, _MEMBERS)
            await _write(entry, content.members(), (), _MEMBERS)
        with archive.entry("posts.csv") as entry:
            write_row(entry, ("type", *_TEXTS))
            await _write(entry, content.posts(), ("post",), _TEXTS)
            await _write(entry, content.pages(), ("page",), _TEXTS)


def write_row(entry: IO[bytes], cells: Iterable[object]) -> None:
    entry.write(_line(map(_cell, cells)).encode())


def write_rows(entry: IO[bytes], rows: Iterable[Iterable[object]]) -> None:
    for cells in rows:
        write_row(entry, cells)


async def _write(
    entry: IO[bytes],
    found: AsyncIterator[list[Record]],
    first: Sequence[str],
    names: Sequence[str],
) -> None:
    async for page in found:
        rows = ((*first, *(_value(each, name) for name in names)) for each in page)
        await in_thread(write_rows, entry, rows)


class Html(str):
    """In which a semicolon ends an entity, not a cell."""


def _value(record: Record, name: str) -> object:
    return Html(record[name]) if name == "content_html" else record[name]


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        # CSV inside the cell, because a tag may have a comma.
        return guard_cell(_line(value).rstrip("\r\n"))
    return guard_start(value) if isinstance(value, Html) else guard_cell(str(value))


def _line(cells: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()
