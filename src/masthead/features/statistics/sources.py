"""The source of a view: what its address says, or the site on which a link was."""

from __future__ import annotations

from functools import lru_cache
from typing import Final
from urllib.parse import parse_qs, urlsplit

from masthead.identity.directory import Tenant

DIRECT: Final = "direct"
OTHER: Final = "other"
MAX_CHARACTERS: Final = 80
MAX_NAMED: Final = 200
"""The most named sources of a site and day; the rest are `other`."""
_NAMING: Final = ("utm_source", "ref")
_REMEMBERED: Final = 4_096
_MAX_BYTES: Final = 2_000
_MAX_FIELDS: Final = 50


class Sources:
    def __init__(self, base_domain: str) -> None:
        self._base_domain = base_domain
        self._name = lru_cache(maxsize=_REMEMBERED)(self._named)

    def of(self, tenant: Tenant, host: bytes, query: bytes, referrer: bytes) -> str:
        """In the path of a request: most come from pages that others have come from."""
        own = (host, tenant.custom_domain, tenant.slug)
        return self._name(own, query[:_MAX_BYTES], referrer[:_MAX_BYTES])

    def _named(self, own: tuple[bytes, str, str], query: bytes, referrer: bytes) -> str:
        host, custom_domain, slug = own
        found = _named_in_query(query) or _cleaned(_host_of(referrer))
        hosts = (host, custom_domain.encode(), f"{slug}.{self._base_domain}".encode())
        if found in {_host_of(b"//" + each) for each in hosts}:
            return DIRECT
        return found or DIRECT


def _named_in_query(query: bytes) -> str:
    try:
        given = parse_qs(query.decode("latin-1"), errors="replace", max_num_fields=_MAX_FIELDS)
    except ValueError:
        return ""
    for name in _NAMING:
        if found := _cleaned(given.get(name, [""])[-1]):
            return found
    return ""


def _host_of(address: bytes) -> str:
    try:
        host = urlsplit(address.decode("latin-1")).hostname or ""
    except ValueError:
        return ""
    return host.removeprefix("www.")


def _cleaned(text: str) -> str:
    words = " ".join(text.lower().split())
    return "".join(each for each in words if each.isprintable())[:MAX_CHARACTERS].strip()
