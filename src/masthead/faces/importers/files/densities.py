"""Limits that recognize a hostile file: it has many parts that are far smaller than any platform
writes them. Such a file is refused in the first pass, before anything is written."""

from __future__ import annotations

from typing import Final

import msgspec

from masthead.faces.importers.source import BadFile


class Density(msgspec.Struct, frozen=True):
    what: str
    always_allowed: int
    """Up to this count, the size does not matter."""
    min_bytes: int
    """The least bytes of the file per part, on average of what was read so far."""

    def check(self, count: int, size: int) -> None:
        if count > self.always_allowed and size < count * self.min_bytes:
            raise BadFile(
                f"The export has more than {self.always_allowed:,} {self.what}, of fewer than "
                f"{self.min_bytes} bytes each, which no platform writes. If the file is correct, "
                "split it into smaller files and import one after the other."
            )


# Real exports of WordPress have at least 750 bytes per item and 48 per element.
ITEMS: Final = Density("items", 2_000, 500)
ELEMENTS: Final = Density("elements", 100_000, 30)
TEXTS: Final = Density("pieces of text", 200_000, 10)
SECTIONS: Final = Density("CDATA sections", 200_000, 20)
REPAIRS: Final = Density("damaged or numeric references", 100_000, 16)

# Ghost has 500 bytes per post, 300 per member, and 100 per linking row; 35 before 1.0.
GHOST_POSTS: Final = Density("posts", 2_000, 250)
GHOST_MEMBERS: Final = Density("members", 20_000, 100)
VALUES: Final = Density("rows", 200_000, 40)

BRACKETS: Final = Density("brackets", 300_000, 8)

# Substack's posts.csv has 150 bytes per row. A list of addresses only has 20.
LINES: Final = Density("lines", 100_000, 12)
POST_ROWS: Final = Density("posts", 5_000, 40)
HTML_FILES: Final = Density("HTML files", 5_000, 100)

# In Windows-1252, 3 to 8 of a hundred characters are accented; more is another encoding.
NOT_UTF8: Final = Density("bytes that are not UTF-8", 200_000, 8)
