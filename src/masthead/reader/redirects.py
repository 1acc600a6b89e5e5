"""Old addresses, such as those of the site that was imported."""

from __future__ import annotations

from masthead.reader.request import SiteRequest
from masthead.site.redirects import MAX_PATH, redirects

_PLAIN_ADDRESSES = ("p", "page_id")
"""WordPress without pretty addresses: `/?p=12`."""


def is_old_address(request: SiteRequest) -> bool:
    """The front page with a query that names a post of the site that was imported."""
    return request.path == "/" and any(name in request.query for name in _PLAIN_ADDRESSES)


async def redirect_of(request: SiteRequest) -> tuple[str, int] | None:
    """Where an address that leads to nothing led to before, and with which status."""
    path = request.path
    other = path.rstrip("/") if path.endswith("/") else f"{path}/"
    sources = [path, other] if path != "/" else []
    if request.query_string:
        sources.insert(0, f"{path}?{request.query_string.decode('latin-1')}")
    for source in sources:
        if len(source) <= MAX_PATH:
            found = await request.records.find(
                redirects, {"source": source}, tenant_id=request.tenant_id
            )
            if found and found[0]["destination"] != path:
                return found[0]["destination"], found[0]["status_code"]
    return None
