"""Runs an export: picks the writer of the format and writes the file."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import BinaryIO

import msgspec

from masthead.base import clock
from masthead.base.ids import TenantId
from masthead.base.whole_file import whole_file
from masthead.engine.records.collection import Record
from masthead.faces.site_export.content import Content, Count, blog_of
from masthead.faces.site_export.formats import Format
from masthead.faces.site_export.ghost import write_ghost
from masthead.faces.site_export.static_pages import write_static_pages
from masthead.faces.site_export.tables import write_tables
from masthead.faces.site_export.wxr import write_wxr
from masthead.features.media.services import SharedServices

Write = Callable[[Content, BinaryIO], Awaitable[None]]

WRITERS: dict[Format, Write] = {
    Format.WXR: write_wxr,
    Format.GHOST: write_ghost,
    Format.CSV: write_tables,
    Format.HTML: write_static_pages,
}


class ExportCounts(msgspec.Struct, frozen=True):
    """Counts of a file's contents."""

    posts: int
    pages: int
    members: int
    media: int
    missing_files: int
    """Media whose file is missing in the object store; they are left out."""
    bytes: int


async def _count_nothing(_kind: str, _count: int) -> None:
    pass


async def export_site(
    services: SharedServices,
    tenant: Record,
    export_format: Format,
    output: Path,
    *,
    replaces: bool = False,
    count: Count = _count_nothing,
) -> ExportCounts:
    """Writes the file `output`. Raises as `whole_file` does and leaves no file then."""
    with whole_file(output, replaces=replaces) as file:
        return await write_site(services, tenant, export_format, file, count=count)


async def write_site(
    services: SharedServices,
    tenant: Record,
    export_format: Format,
    file: BinaryIO,
    *,
    count: Count = _count_nothing,
) -> ExportCounts:
    """Writes all content of the tenant, with drafts and posts for members."""
    blog = await blog_of(services, tenant, clock.to_text(services.records.clock()))
    content = Content(services, TenantId(tenant["id"]), blog, count)
    await WRITERS[export_format](content, file)
    return ExportCounts(
        **content.counts, missing_files=content.missing_files, bytes=file.seek(0, os.SEEK_END)
    )
