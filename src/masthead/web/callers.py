"""Who makes a request: the account of its token or of its session cookie, or a guest."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit

from starlette.types import Scope

from masthead.caller import Caller, Kind, guest, in_tenant
from masthead.errors import SiteSuspended
from masthead.identity.accounts import Accounts
from masthead.identity.directory import TenantDirectory
from masthead.identity.hosts import parse_host
from masthead.identity.sessions import ADMIN_COOKIE, MEMBER_COOKIE, token_in_cookie
from masthead.identity.tenants import superusers
from masthead.web.answers import header
from masthead.web.cookies import cookies_of
from masthead.web.request_context import request_context

_COOKIES = ((ADMIN_COOKIE, True), (MEMBER_COOKIE, False))
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class Callers:
    def __init__(self, accounts: Accounts, directory: TenantDirectory) -> None:
        self._accounts = accounts
        self._directory = directory

    async def of(self, scope: Scope, *, only_member: bool = False) -> Caller:
        """The caller by token or cookie, on the tenant that the host names.

        As in PocketBase, an invalid token is ignored, and so is one of another tenant than the
        host's. A browser may hold both cookies: `only_member` asks who is signed in as a member.
        """
        context = request_context(scope)
        for name, _ in scope["headers"]:
            if name in (b"authorization", b"cookie"):
                break
        else:
            return guest(context.tenant_id)
        caller = await self._by_header(scope)
        if caller is None or (only_member and caller.kind is not Kind.MEMBER):
            caller = await self._by_cookie(scope, _COOKIES[1:] if only_member else _COOKIES)
        if caller is None:
            return guest(context.tenant_id)
        if caller.kind is not Kind.MEMBER:
            caller = replace(caller, address=context.address)
        if caller.kind is Kind.OPERATOR:
            return in_tenant(caller, context.tenant.id) if context.tenant else caller
        if context.tenant_id not in (None, caller.tenant_id):
            return guest(context.tenant_id)
        return caller

    async def refuse_if_suspended(self, scope: Scope, caller: Caller) -> None:
        """At the address of a suspended site, and for its members and staff on the service's own
        host. Operators work in it as before."""
        if caller.kind is Kind.OPERATOR:
            return
        tenant = request_context(scope).tenant
        if tenant is None and caller.tenant_id:
            tenant = await self._directory.by_id(caller.tenant_id)
        if tenant is not None and tenant.is_suspended:
            raise SiteSuspended

    async def _by_header(self, scope: Scope) -> Caller | None:
        value = header(scope, b"authorization")
        if not value:
            return None
        scheme, _, token = value.partition(" ")
        if not token:
            token = scheme
        elif scheme.lower() != "bearer":
            return None
        return await self._accounts.caller_of(token.strip())

    async def _by_cookie(self, scope: Scope, names: tuple[tuple[str, bool], ...]) -> Caller | None:
        cookies = cookies_of(scope)
        if not any(name in cookies for name, _ in names) or not is_own_request(scope):
            return None
        for name, is_admin in names:
            token = token_in_cookie(cookies.get(name, ""))
            caller = await self._accounts.caller_of(token) if token else None
            # Each cookie is valid only for its own kind of session.
            if caller and (caller.collection == superusers.name) is is_admin:
                return caller
        return None


def is_own_request(scope: Scope) -> bool:
    """Tenants share a parent domain, so a browser also sends cookies with forms of sibling sites.
    Requests that change something or sign in must come from the same origin."""
    if scope["method"] in _SAFE_METHODS:
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
