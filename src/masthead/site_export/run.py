"""Runs an export: picks the writer of the format and writes the file."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

from masthead import clock
from masthead.ids import TenantId
from masthead.records.collection import Record
from masthead.site_export.content import Content, Count, ExportServices, blog_of
from masthead.site_export.ghost import write_ghost
from masthead.site_export.output import whole_file
from masthead.site_export.static_pages import write_static_pages
from masthead.site_export.tables import write_tables
from masthead.site_export.wxr import write_wxr


class Format(StrEnum):
    WXR = "wxr"
    GHOST = "ghost"
    CSV = "csv"
    HTML = "html"


Write = Callable[[Content, BinaryIO], Awaitable[None]]

WRITERS: dict[Format, Write] = {
    Format.WXR: write_wxr,
    Format.GHOST: write_ghost,
    Format.CSV: write_tables,
    Format.HTML: write_static_pages,
}

KINDS: dict[Format, tuple[str, ...]] = {
    Format.WXR: ("media", "posts", "pages"),
    Format.GHOST: ("posts", "pages", "members", "media"),
    Format.CSV: ("members", "posts", "pages"),
    Format.HTML: ("posts", "pages", "media"),
}
"""What each format has, in the order of writing. Members are in formats that others import."""


@dataclass(frozen=True, slots=True)
class Exported:
    format: Format
    output: Path
    posts: int
    pages: int
    members: int
    media: int
    missing_files: int
    """Media whose file is missing in the object store; they are left out."""
    bytes: int


async def export_site(
    services: ExportServices,
    tenant: Record,
    export_format: Format,
    output: Path,
    count: Count = lambda _kind, _count: None,
) -> Exported:
    """Writes all content of the tenant, with drafts and posts for members. Raises `CannotWrite` and
    leaves no file then."""
    blog = await blog_of(services, tenant, clock.to_text(services.records.clock()))
    content = Content(services, TenantId(tenant["id"]), blog, count)
    with whole_file(output) as file:
        await WRITERS[export_format](content, file)
        size = file.tell()
    missing = content.missing_files
    return Exported(export_format, output, **content.counts, missing_files=missing, bytes=size)
