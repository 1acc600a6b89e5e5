"""Where a site serves its media."""

from __future__ import annotations


def media_path(record_id: str, name: str) -> str:
    """The file's path on the tenant's own site."""
    return f"/media/{record_id}/{name}"
