"""A post of an export, ready to be stored but for its pictures.

Apart from what makes it ready, which the process that stores it may never have to load.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from masthead.importers.image_urls import ImageRef


class Prepared(Struct, frozen=True):
    source_id: str
    html: str
    content_json: dict[str, Any] | None
    why_html_only: str
    """What the editor has no place for; '' where it can open the post, or there is no text."""
    images: tuple[ImageRef, ...]
    """Of the text and the featured image, whose own address is among their `urls`."""
    mentioned: tuple[str, ...] = ()
    """What players play, and where links lead: to be copied if it came with the export."""
