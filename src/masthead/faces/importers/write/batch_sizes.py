"""How much of an export is written in one transaction."""

from __future__ import annotations

from typing import Final

DEFAULT_BATCH: Final = 50
"""Posts per transaction."""
MAX_BATCH: Final = 1_000
MEMBERS_PER_BATCH: Final = 200
COMMENTS_PER_BATCH: Final = 200
AUTHORS_PER_BATCH: Final = 200
PREPARED_AHEAD: Final = 3
"""Batches that are prepared while one is written."""
MAX_CHARACTERS: Final = 4_000_000
"""Characters of text in one batch, to bound memory when posts are long."""
MAX_ENTRIES: Final = 1_000
