"""Old addresses, such as those of the site that was imported."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote, urlencode

from masthead.faces.reader.request import SiteRequest
from masthead.features.site.redirects import MAX_PATH, SAFE_IN_PATH, redirects

PLAIN_ADDRESSES: Final[tuple[str, ...]] = (
    "p",
    "page_id",
    "attachment_id",
    "cat",
    "tag",
    "author",
    "feed",
    "m",
)
"""WordPress without pretty addresses: `/?p=12`."""
_LATER_PAGE: Final = re.compile(r"(.*/)page/[0-9]{1,6}/?", re.DOTALL)
_DAY: Final = re.compile(r"(.*/[0-9]{4}/[0-9]{2}/)[0-9]{2}/?", re.DOTALL)
"""The list of a day leads to the list of its month."""
_FEED_OF: Final = re.compile(r"(/.+/)feed(?:/(?:rss|rss2|rdf|atom))?/?", re.DOTALL)
"""WordPress has a feed of the comments under each post, and of each list."""
_FEEDS: Final = {
    **dict.fromkeys(
        ("/feed", "/feed/rss", "/feed/rss2", "/feed/rdf", "/comments/feed"), "/feed.xml"
    ),
    **dict.fromkeys(("/rss", "/rss.xml"), "/feed.xml"),
    **dict.fromkeys(("/feed/atom", "/atom"), "/atom.xml"),
}
"""Where WordPress, Substack and Ghost have a feed: a reader's program asks there on any site."""
# Of the file that was uploaded, WordPress and Ghost made copies in many sizes.
_SIZE: Final = re.compile(r"(/.+)-[0-9]{1,5}x[0-9]{1,5}(\.[A-Za-z]{3,4})")
_GHOST_SIZE: Final = re.compile(r"/content/images/size/(?:w[0-9]+)?(?:h[0-9]+)?/(?:format/\w+/)?")


def is_old_address(request: SiteRequest) -> bool:
    """The front page with a query that names something of the site that was imported."""
    return request.path == "/" and any(name in request.sent_query for name in PLAIN_ADDRESSES)


async def redirect_of(request: SiteRequest) -> tuple[str, int] | None:
    """Where an address that leads to nothing led to before, and with which status."""
    for source in dict.fromkeys(_sources(request)):
        if len(source) <= MAX_PATH:
            found = await request.records.find_one(
                redirects, {"source": source}, tenant_id=request.tenant_id
            )
            if found and found["destination"] != request.path:
                return found["destination"], found["status_code"]
    feed = _FEEDS.get(request.path.rstrip("/"))
    return (feed, 301) if feed else None


def _sources(request: SiteRequest) -> Iterator[str]:
    """The likeliest first. A path may be stored as it is written or percent-encoded."""
    path, encoded = request.path, quote(request.path[: MAX_PATH + 1], safe=SAFE_IN_PATH)
    if request.query_string:
        yield f"{encoded}?{request.query_string.decode('latin-1')}"
    for name in PLAIN_ADDRESSES:
        if name in request.sent_query:
            yield f"{encoded}?{urlencode({name: request.sent_query[name]})}"
    if path == "/":
        return
    for each in (path, encoded):
        yield each
        yield each.rstrip("/") if each.endswith("/") else f"{each}/"
    if later := _LATER_PAGE.fullmatch(encoded):
        yield later[1]
        # An import stores where the later pages of the list of all posts lead.
        yield f"{later[1]}page/"
    if day := _DAY.fullmatch(encoded):
        yield day[1]
    if feed := _FEED_OF.fullmatch(encoded):
        yield feed[1]
    if size := _SIZE.fullmatch(encoded):
        yield f"{size[1]}{size[2]}"
    if "/content/images/size/" in encoded:
        yield _GHOST_SIZE.sub("/content/images/", encoded, count=1)
