"""CORS: the tenant's listed origins may call the API from a browser.

A preflight has no key, so pages call the tenant's own host rather than the service's. Credentials
are never allowed: a page of another origin sends a key or a token, never a cookie.
"""

from __future__ import annotations

from collections.abc import Iterable

from masthead.web.answers import Answer, RawHeaders, header
from masthead.web.asgi import Scope
from masthead.web.request import Request
from masthead.web.v1.routes import PREFIX as V1

METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
REQUEST_HEADERS = (
    "Authorization",
    "Content-Type",
    "Idempotency-Key",
    "If-Match",
    "If-None-Match",
    "X-Tenant-Id",
)
EXPOSED_HEADERS = (
    "ETag",
    "Idempotent-Replayed",
    "Link",
    "Retry-After",
    "X-Ignored",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "X-Request-Id",
)
ANY = "*"
PREFIXES = (V1, "/api/ai/", "/api/collections/", "/api/admins/", "/api/files/", "/api/batch")

_PREFLIGHT: RawHeaders = [
    (b"access-control-allow-methods", METHODS.encode()),
    (b"access-control-allow-headers", ", ".join(REQUEST_HEADERS).encode()),
    (b"access-control-max-age", b"7200"),
]
_EXPOSED = (b"access-control-expose-headers", ", ".join(EXPOSED_HEADERS).encode())
_VARY = (b"vary", b"Origin")


def allow_origin(request: Request) -> Answer | None:
    """Adds the headers of the response, or returns the answer to a preflight."""
    listed = request.tenant.cors_origins if request.tenant else ()
    if not listed or not request.path.startswith(PREFIXES):
        return None
    if ANY not in listed:
        request.added.append(_VARY)
    allowed = allowed_origin(request.header(b"origin"), listed)
    if allowed is None:
        return None
    request.added.append((b"access-control-allow-origin", allowed.encode("latin-1")))
    if _is_preflight(request.scope):
        return Answer(204, headers=_PREFLIGHT)
    request.added.append(_EXPOSED)
    return None


def allowed_origin(origin: str | None, listed: Iterable[str]) -> str | None:
    """The Access-Control-Allow-Origin: the origin itself, `*` if all are allowed, or None."""
    if origin is None:
        return None
    if ANY in listed:
        return ANY
    wanted = origin.lower()
    return origin if any(each.rstrip("/").lower() == wanted for each in listed) else None


def _is_preflight(scope: Scope) -> bool:
    return (
        scope["method"] == "OPTIONS" and header(scope, b"access-control-request-method") is not None
    )
