"""How much of an export is written at a time."""

from __future__ import annotations

from typing import Final

DEFAULT_BATCH: Final = 50
"""Posts per transaction."""
MAX_BATCH: Final = 1_000
MEMBERS_PER_BATCH: Final = 200
COMMENTS_PER_BATCH: Final = 200
AUTHORS_PER_BATCH: Final = 200
AHEAD: Final = 3
"""Batches that are being made ready while one is written."""
MOST_CHARACTERS: Final = 4_000_000
"""Of text in one batch, however many posts that are: a few novels must not fill the memory."""
MOST_ENTRIES: Final = 1_000
