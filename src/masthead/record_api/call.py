"""One request to the record store: its context, its caller and the services for its handler."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from starlette.types import Receive, Scope

from masthead.caller import Caller, Kind, guest, in_tenant
from masthead.config.settings import Settings
from masthead.errors import NotFound, SiteSuspended
from masthead.identity.accounts import Accounts
from masthead.identity.directory import TenantDirectory
from masthead.identity.hosts import parse_host
from masthead.identity.sessions import ADMIN_COOKIE, MEMBER_COOKIE, token_in_cookie
from masthead.identity.tenants import superusers
from masthead.limits.read_limits import ReadLimit
from masthead.media.images import ImagePool
from masthead.members.email_change import EmailChanges
from masthead.password_reset.resets import PasswordResets
from masthead.records.collection import Collection
from masthead.records.engine import Records
from masthead.storage.objects import ObjectStore
from masthead.web.answers import header
from masthead.web.bodies import (
    SMALL_FORM_VALUES,
    decode_json_object,
    json_object,
    read_body,
    read_small_form,
)
from masthead.web.cookies import cookies_of
from masthead.web.request_context import RequestContext, request_context

MAX_JSON_BYTES = 8 * 1024 * 1024
MAX_OWN_BYTES = 64 * 1024
"""Of a guest or a member, who can only change their own account."""

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class RecordStoreServices:
    records: Records
    accounts: Accounts
    objects: ObjectStore
    images: ImagePool
    settings: Settings
    email_changes: EmailChanges
    resets: PasswordResets
    read_limit: ReadLimit
    directory: TenantDirectory


class Call:
    __slots__ = ("caller", "context", "receive", "scope", "services")

    def __init__(
        self,
        services: RecordStoreServices,
        scope: Scope,
        receive: Receive,
        caller: Caller,
    ) -> None:
        self.services = services
        self.scope = scope
        self.receive = receive
        self.caller = caller
        self.context: RequestContext = request_context(scope)

    @property
    def records(self) -> Records:
        return self.services.records

    def collection(self) -> Collection:
        found = self.records.registry.find(self.scope["path_params"]["collection"])
        if found is None:
            raise NotFound("Missing collection context.")
        return found

    @property
    def record_id(self) -> str:
        record_id: str = self.scope["path_params"]["id"]
        return record_id

    @property
    def is_multipart(self) -> bool:
        return (header(self.scope, b"content-type") or "").lower().startswith("multipart/")

    @property
    def max_body(self) -> int:
        return MAX_OWN_BYTES if self.caller.is_reader else MAX_JSON_BYTES

    async def json(self) -> dict[str, Any]:
        raw = await read_body(self.scope, self.receive, limit=self.max_body)
        return await json_object(raw) if raw.strip() else {}

    async def small_json(self) -> dict[str, Any]:
        raw = await read_small_form(self.scope, self.receive)
        return decode_json_object(raw, max_values=SMALL_FORM_VALUES) if raw.strip() else {}


_COOKIES = ((ADMIN_COOKIE, True), (MEMBER_COOKIE, False))


async def identify(
    services: RecordStoreServices, scope: Scope, *, only_member: bool = False
) -> Caller:
    """The caller by token or cookie, on the tenant that the host names.

    As in PocketBase, an invalid token is ignored, and so is one of another tenant than the host's.
    A browser may hold both cookies: `only_member` asks who is signed in as a member.
    """
    context = request_context(scope)
    for name, _ in scope["headers"]:
        if name in (b"authorization", b"cookie"):
            break
    else:
        return guest(context.tenant_id)
    caller = await _by_header(services, scope)
    if caller is None or (only_member and caller.kind is not Kind.MEMBER):
        cookies = _COOKIES[1:] if only_member else _COOKIES
        caller = await _by_cookie(services, scope, cookies)
    if caller is None:
        return guest(context.tenant_id)
    if caller.kind is not Kind.MEMBER:
        caller = replace(caller, address=context.address)
    if caller.kind is Kind.OPERATOR:
        return in_tenant(caller, context.tenant.id) if context.tenant else caller
    if context.tenant_id not in (None, caller.tenant_id):
        return guest(context.tenant_id)
    return caller


async def refuse_if_suspended(services: RecordStoreServices, scope: Scope, caller: Caller) -> None:
    """At the address of a suspended site, and for its members and staff on the service's own
    host. Operators work in it as before."""
    if caller.kind is Kind.OPERATOR:
        return
    tenant = request_context(scope).tenant
    if tenant is None and caller.tenant_id:
        tenant = await services.directory.by_id(caller.tenant_id)
    if tenant is not None and tenant.is_suspended:
        raise SiteSuspended


async def _by_header(services: RecordStoreServices, scope: Scope) -> Caller | None:
    value = header(scope, b"authorization")
    if not value:
        return None
    scheme, _, token = value.partition(" ")
    if not token:
        token = scheme
    elif scheme.lower() != "bearer":
        return None
    return await services.accounts.caller_of(token.strip())


async def _by_cookie(
    services: RecordStoreServices, scope: Scope, names: tuple[tuple[str, bool], ...]
) -> Caller | None:
    cookies = cookies_of(scope)
    if not any(name in cookies for name, _ in names) or not is_own_request(scope):
        return None
    for name, is_admin in names:
        token = token_in_cookie(cookies.get(name, ""))
        caller = await services.accounts.caller_of(token) if token else None
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
