"""Who makes a request: the account of its token or of its session cookie, or a guest."""

from __future__ import annotations

from typing import TypeAlias
from urllib.parse import urlsplit

from msgspec.structs import replace

from masthead.base.caller import Caller, Kind, guest, in_tenant
from masthead.identity.accounts import Accounts
from masthead.identity.hosts import parse_host
from masthead.identity.sessions import ADMIN_COOKIE, MEMBER_COOKIE, token_in_cookie
from masthead.identity.tenants import superusers
from masthead.web.answers import header, header_lines
from masthead.web.asgi import Scope
from masthead.web.cookies import session_values
from masthead.web.policy import SAFE_METHODS
from masthead.web.request import Request

_Cookies: TypeAlias = tuple[tuple[str, bool], ...]
_COOKIES: _Cookies = ((ADMIN_COOKIE, True), (MEMBER_COOKIE, False))


class Callers:
    def __init__(self, accounts: Accounts) -> None:
        self._sessions = accounts.sessions

    async def of(self, request: Request) -> Caller:
        """The caller by token or cookie, on the tenant that the host names.

        As in PocketBase, an invalid token is ignored, and so is one of another tenant than the
        host's.
        """
        if request.caller is None:
            caller = await self._identify(request.scope, _COOKIES)
            request.caller = _at(request, caller)
        return request.caller

    async def token_of(self, request: Request) -> str:
        """The token of the caller that `of` has found; '' for a guest."""
        caller = await self.of(request)
        if caller.kind is Kind.GUEST:
            return ""
        given = (header(request.scope, b"authorization") or "").rpartition(" ")[2]
        values = (each for name, _ in _COOKIES for each in session_values(request.scope, name))
        for token in (given, *map(token_in_cookie, values)):
            found = await self._sessions.caller_of(token) if token else None
            if found and (found.collection, found.id) == (caller.collection, caller.id):
                return token or ""
        return ""

    async def staff_of(self, request: Request) -> Caller:
        """Like `of`, also for staff who have to add a second factor first."""
        return _at(request, await self._identify(request.scope, _COOKIES, lacking=True))

    async def member_of(self, request: Request) -> Caller:
        """The signed-in member: a browser may have both cookies."""
        caller = await self._by_header(request.scope)
        if caller is None or caller.kind is not Kind.MEMBER:
            caller = await self._by_cookie(request.scope, _COOKIES[1:])
        return _at(request, caller)

    async def anywhere(self, request: Request) -> Caller:
        """The signed-in account, at any site."""
        caller = await self._identify(request.scope, _COOKIES)
        return guest() if caller is None else _from(request, caller)

    async def _identify(
        self, scope: Scope, cookies: _Cookies, *, lacking: bool = False
    ) -> Caller | None:
        lines = header_lines(scope)
        if b"authorization" not in lines and b"cookie" not in lines:
            return None
        found = await self._by_header(scope, lacking=lacking)
        return found or await self._by_cookie(scope, cookies, lacking=lacking)

    async def _by_header(self, scope: Scope, *, lacking: bool = False) -> Caller | None:
        token = token_of(scope)
        return await self._sessions.caller_of(token, lacking=lacking) if token else None

    async def _by_cookie(
        self, scope: Scope, names: _Cookies, *, lacking: bool = False
    ) -> Caller | None:
        values = [
            (each, is_admin) for name, is_admin in names for each in session_values(scope, name)
        ]
        if not values or not is_own_request(scope):
            return None
        for value, is_admin in values:
            token = token_in_cookie(value)
            caller = await self._sessions.caller_of(token, lacking=lacking) if token else None
            # Each cookie is valid only for its own kind of session.
            if caller and (caller.collection == superusers.name) is is_admin:
                return caller
        return None


def token_of(scope: Scope) -> str:
    """In the header `Authorization`, with or without `Bearer`; '' without one."""
    scheme, _, token = (header(scope, b"authorization") or "").partition(" ")
    if not token:
        return scheme
    return token.strip() if scheme.lower() == "bearer" else ""


def _at(request: Request, caller: Caller | None) -> Caller:
    """The caller at the addressed site; a guest where the account is another's."""
    if caller is None:
        return guest(request.tenant_id)
    caller = _from(request, caller)
    if caller.kind is Kind.OPERATOR:
        return in_tenant(caller, request.tenant.id) if request.tenant else caller
    if request.tenant_id not in (None, caller.tenant_id):
        return guest(request.tenant_id)
    return caller


def _from(request: Request, caller: Caller) -> Caller:
    return caller if caller.kind is Kind.MEMBER else replace(caller, address=request.address)


def is_own_request(scope: Scope) -> bool:
    """Tenants share a parent domain, so a browser also sends cookies with forms of sibling sites.
    Requests that change something or sign in must come from the same origin."""
    if scope["method"] in SAFE_METHODS:
        return True
    fetch_site = header(scope, b"sec-fetch-site")
    if fetch_site is not None:
        return fetch_site in ("same-origin", "none")
    origin = header(scope, b"origin")
    if origin is None:
        return True
    host = parse_host(header(scope, b"host") or "")
    try:
        parts = urlsplit(origin)
        return (parts.hostname, parts.port) == (host.name.strip("[]"), host.port)
    except ValueError:
        return False
