"""The cookies of a request, and those that only this service sets.

Split here: Python's own parser removes quotes in quadratic time in versions before 3.13, so that
one request of a guest would stop every site for a minute.
"""

from __future__ import annotations

from masthead.base.errors import HeadTooLarge
from masthead.identity.sessions import HOST_PREFIX
from masthead.web.answers import header_lines
from masthead.web.asgi import Scope
from masthead.web.request import request_of

MAX_BYTES = 16 * 1024
"""The size of all cookies of a request. A browser sends up to 4 KB for each."""

_TOO_LARGE = (
    f"The request's cookies have over {MAX_BYTES:,} bytes. "
    "Delete this site's cookies in the browser, and those of its parent domain."
)


def cookies_of(scope: Scope) -> dict[str, str]:
    """The first value of each name, which is the one with the longest path, as it was sent.

    HTTP/2 may split the header into several fields (RFC 9113, 8.2.3).
    """
    found: dict[str, str] | None = scope.get("masthead.cookies")
    if found is not None:
        return found
    raw = b"; ".join(header_lines(scope).get(b"cookie", ()))
    if len(raw) > MAX_BYTES:
        raise HeadTooLarge(_TOO_LARGE)
    found = scope["masthead.cookies"] = {}
    if raw:
        for pair in raw.decode("latin-1").split(";"):
            name, _, value = pair.partition("=")
            found.setdefault(name.strip(), value.strip())
    return found


def own_cookie(scope: Scope, name: str) -> str:
    """The value of a cookie that `set_own_cookie` has set; empty if it is missing."""
    return cookies_of(scope).get(_own_name(name, is_https=request_of(scope).is_https), "")


def set_own_cookie(name: str, value: str, *, path: str, seconds: int, is_https: bool) -> str:
    """A `Set-Cookie` value; 0 seconds delete the cookie. With its prefix it is for all paths."""
    path, secure = ("/", "; Secure") if is_https else (path, "")
    attributes = f"Max-Age={seconds}; Path={path}; HttpOnly; SameSite=Lax{secure}"
    return f"{_own_name(name, is_https=is_https)}={value}; {attributes}"


def session_values(scope: Scope, name: str) -> tuple[str, ...]:
    """The values of a session's cookie, over https first the one that no other site can set: a page
    of the parent domain could plant one without the prefix, so that it comes first."""
    cookies = cookies_of(scope)
    names = (_own_name(name, is_https=True), name) if request_of(scope).is_https else (name,)
    return tuple(cookies[each] for each in names if each in cookies)


def _own_name(name: str, *, is_https: bool) -> str:
    """With the prefix no sibling site and no page without TLS can set the cookie."""
    return f"{HOST_PREFIX}{name}" if is_https else name
