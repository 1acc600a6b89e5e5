"""One export from beginning to end: which format, into which file, and what there was."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

from masthead import clock
from masthead.ids import TenantId
from masthead.records.collection import Record
from masthead.site_export.content import Content, ExportServices, Tell, blog_of
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
"""What each carries, in the order of writing. Members' addresses only where others import them."""


@dataclass(frozen=True, slots=True)
class Exported:
    format: Format
    output: Path
    posts: int
    pages: int
    members: int
    media: int
    missing_files: int
    """Media whose bytes the object store no longer has; they are left out."""
    bytes: int


def _quietly(_kind: str, _count: int) -> None:
    pass


async def export_site(
    services: ExportServices, tenant: Record, form: Format, output: Path, tell: Tell = _quietly
) -> Exported:
    """Writes everything of the tenant that the format carries, drafts and what only members may
    read included: it is the owner's own. Raises `CannotWrite`; then nothing is left behind."""
    blog = await blog_of(services, tenant, clock.to_text(services.records.clock()))
    content = Content(services, TenantId(tenant["id"]), blog, tell)
    with whole_file(output) as file:
        await WRITERS[form](content, file)
        size = file.tell()
    return Exported(form, output, **content.counts, missing_files=content.missing_files, bytes=size)
