"""Where a site serves its media."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

# With or without a host: older uploads hold the whole address.
_MEDIA: Final = re.compile(r"(?:https?://[^/]+)?/media/([a-z0-9]{15})/([^/?#]+)", re.ASCII)


class NamedFile(NamedTuple):
    record_id: str
    name: str


def media_path(record_id: str, name: str) -> str:
    """The file's path on the tenant's own site."""
    return f"/media/{record_id}/{name}"


def named_file(address: str) -> NamedFile | None:
    """The file of the site's media that an address in a text means; None for any other address."""
    match = _MEDIA.fullmatch(address)
    return NamedFile(match[1], match[2]) if match else None
