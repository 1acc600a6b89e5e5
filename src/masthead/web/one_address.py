"""Each site has one address: other ways to reach it lead there with 301.

Plain HTTP leads to HTTPS where the base URL has it. The slug's host leads to the domain of the
site's own, and so does that domain with `www.` before it, or without it. `MASTHEAD_CANONICAL=off`
serves all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

from masthead.base.config.settings import Settings
from masthead.identity.directory import Tenant
from masthead.web.answers import RawHeaders, header
from masthead.web.asgi import Scope
from masthead.web.proxies import claims_https, is_plain
from masthead.web.request import Request

HSTS = (b"strict-transport-security", b"max-age=31536000")
"""A browser that was here by HTTPS asks for nothing in plain for a year."""
_WWW = "www."
_FOR_PROGRAMS = ("/api", "/metrics")
_BELOW_API = "/api/"
_AT_EVERY_HOST = ("/admin", "/assets", "/media", "/.well-known")
"""The owner can open the admin even if the site's domain no longer works, and texts may name
pictures at the slug's host."""
_BELOW_THEM = tuple(f"{each}/" for each in _AT_EVERY_HOST)


class OneAddress:
    def __init__(self, settings: Settings, url_of: Callable[[Tenant], str]) -> None:
        has_https = settings.base_url.startswith("https:")
        self.is_on = settings.canonical
        self._leads_to_https = has_https and self.is_on
        self._promises_https = (has_https or bool(settings.tls_cert)) and self.is_on
        self._base_url = settings.base_url.rstrip("/")
        self._base_domain = settings.base_domain
        self._trusted_proxies = settings.trusted_proxies
        self._url_of = url_of

    def promises_https(self, request: Request) -> bool:
        """Whether the answer has `HSTS`."""
        return self._promises_https and (request.is_https or claims_https(request.scope))

    def redirect(self, request: Request) -> RawHeaders | None:
        """The headers of the 301, or None where the request is answered."""
        tenant, scope = request.tenant, request.scope
        has_others = tenant is not None and tenant.custom_domain and self.is_on
        if not has_others and not self._leads_to_https:
            return None
        path = scope["path"]
        if path in _FOR_PROGRAMS or path.startswith(_BELOW_API):
            return None
        if not self._has_to_be_https(scope) and not self._is_elsewhere(scope, tenant):
            return None
        # From stored values: a forged Host header must not get into an address.
        origin = self._url_of(tenant) if tenant else self._base_url
        # A domain may be given up again, and a browser would go there for ever.
        return [(b"location", origin.encode() + _target(scope)), (b"cache-control", b"no-cache")]

    def _has_to_be_https(self, scope: Scope) -> bool:
        """Not behind a trusted proxy that says nothing: HTTPS looks plain there, and would be sent
        in circles."""
        return self._leads_to_https and is_plain(scope, self._trusted_proxies)

    def _is_elsewhere(self, scope: Scope, tenant: Tenant | None) -> bool:
        if tenant is None or not tenant.custom_domain or not self.is_on:
            return False
        if scope["method"] not in ("GET", "HEAD"):
            return False
        name = (header(scope, b"host") or "").lower().partition(":")[0].removesuffix(".")
        others = (f"{tenant.slug}.{self._base_domain}", with_or_without_www(tenant.custom_domain))
        path = scope["path"]
        return name in others and path not in _AT_EVERY_HOST and not path.startswith(_BELOW_THEM)


def with_or_without_www(domain: str) -> str:
    """The other name by which people look for a domain."""
    return domain.removeprefix(_WWW) if domain.startswith(_WWW) else f"{_WWW}{domain}"


def _target(scope: Scope) -> bytes:
    path: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    query: bytes = scope["query_string"]
    return path.partition(b"?")[0] + (b"?" + query if query else b"")
