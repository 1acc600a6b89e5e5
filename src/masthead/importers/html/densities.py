"""What tells a hostile file from a large one: its parts are far smaller than any platform writes
them. A large site's export is long because its texts are; one that is all structure is refused in
the first reading, before much of it has cost anything and before anything is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from masthead.importers.source import BadFile


@dataclass(frozen=True, slots=True)
class Density:
    what: str
    free: int
    """So many are no cost, however small they are."""
    least: int
    """Bytes of the file for each, on the average of what was read so far."""

    def check(self, count: int, size: int) -> None:
        if count > self.free and size < count * self.least:
            raise BadFile(
                f"The export has more than {self.free:,} {self.what}, of fewer than {self.least} "
                "bytes each, which no platform writes. If it is meant so, split it into smaller "
                "files and import one after the other."
            )


# Real exports of WordPress have 750 bytes an item and 48 an element at the least.
ITEMS: Final = Density("items", 2_000, 500)
ELEMENTS: Final = Density("elements", 100_000, 30)
TEXTS: Final = Density("pieces of text", 200_000, 10)
SECTIONS: Final = Density("CDATA sections", 200_000, 20)
REPAIRS: Final = Density("damaged or numeric references", 100_000, 16)

# Ghost's have 500 bytes a post, 300 a member, and 100 in the rows that link them; 35 before 1.0.
GHOST_POSTS: Final = Density("posts", 2_000, 250)
GHOST_MEMBERS: Final = Density("members", 20_000, 100)
VALUES: Final = Density("rows", 200_000, 40)

BRACKETS: Final = Density("brackets", 300_000, 8)

# Substack's posts.csv has 150 bytes a row. A list of nothing but addresses has 20.
LINES: Final = Density("lines", 100_000, 12)
POST_ROWS: Final = Density("posts", 5_000, 40)
HTML_FILES: Final = Density("HTML files", 5_000, 100)

# Accented letters are 3 to 8 in a hundred; more is another encoding altogether.
FOREIGN: Final = Density("bytes that are no UTF-8", 200_000, 8)
