"""The names of a run's files."""

from __future__ import annotations

import re
from typing import Final

REDIRECTS_FILE: Final = "redirects.csv"
ERRORS_FILE: Final = "import-errors.json"
SAMPLES_FILE: Final = "samples.json"
_LONGEST_NAME: Final = 60
_OWN: Final = frozenset({REDIRECTS_FILE, ERRORS_FILE, SAMPLES_FILE})


def safe_name(file_name: str) -> str:
    """The name of an uploaded file, safe for a folder and for a key of the object store."""
    name = re.split(r"[/\\]", file_name)[-1][-_LONGEST_NAME:]
    safe = re.sub(r"[^\w.-]", "_", name).lstrip(".") or "export"
    # A run has files of its own under these names.
    return f"_{safe}" if safe in _OWN else safe
