"""Addresses of the old site as the sources of redirects: path and query, in one spelling."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final
from urllib.parse import quote, urlsplit

from masthead.features.site.redirects import SAFE_IN_PATH

MAX_ADDRESS: Final = 2_048
_NOT_IN_ADDRESS: Final = re.compile(r"[\x00-\x20\x7f]")


def old_path(link: str) -> str:
    """Path and query of a permalink on any host; '' where no redirect is possible."""
    if not link or len(link) > MAX_ADDRESS or _NOT_IN_ADDRESS.search(link):
        return ""
    try:
        parts = urlsplit(link)
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return ""
    path = parts.path or "/"
    if path.startswith("//") or ".." in path.split("/") or "\\" in path:
        return ""
    found = quote(path, safe=SAFE_IN_PATH)
    if parts.query:
        found += "?" + quote(parts.query, safe=SAFE_IN_PATH + "?")
    return "" if found == "/" or len(found) > MAX_ADDRESS else found


def own_hosts(site_url: str) -> frozenset[str]:
    """The hosts of a site, with and without `www.`; none if its address is unknown."""
    host = _host(site_url).removeprefix("www.")
    return frozenset({host, f"www.{host}"} if host else ())


def own_path(url: str, hosts: Collection[str]) -> str:
    """The path of a file on the old site itself, without a query; '' for one that is elsewhere."""
    if url.startswith("/") and not url.startswith("//"):
        url = f"https://own{url}"
    elif _host(url) not in hosts:
        return ""
    return old_path(url.partition("?")[0].partition("#")[0])


def base_path(site_url: str) -> str:
    """The prefix of all paths, for a site in a folder of its host."""
    try:
        return quote(urlsplit(site_url).path.rstrip("/"), safe=SAFE_IN_PATH)
    except ValueError:
        return ""


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
