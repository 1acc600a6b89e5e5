"""The site that a request is addressed to: by its host, and for the APIs by `x-tenant-id`."""

from __future__ import annotations

from functools import lru_cache

from masthead.base.config.settings import Settings
from masthead.base.errors import BadRequest, NotFound, Unauthenticated
from masthead.identity.directory import Tenant, TenantDirectory
from masthead.identity.hosts import (
    BareHost,
    HostKind,
    Subdomain,
    classify_host,
    is_address,
    parse_host,
)
from masthead.web.answers import header
from masthead.web.asgi import Scope
from masthead.web.one_address import with_or_without_www

HEALTH, METRICS = "/api/health", "/metrics"
DOMAIN_CHECK = "/api/health/domain"
_AT_ANY_HOST = (HEALTH, DOMAIN_CHECK)
"""Load balancers and proxies use any name of the machine, and so does Prometheus."""
API_PREFIX, V1_PREFIX = "/api/", "/api/v1/"
UNKNOWN_HOST = (
    "No site is served at this address. "
    "The operator sets MASTHEAD_BASE_DOMAIN; an owner gives a site its domain in the admin."
)


class AddressedSite:
    def __init__(self, directory: TenantDirectory, settings: Settings) -> None:
        self._directory = directory
        self._settings = settings
        self._shows_metrics = settings.metrics is not None and settings.metrics.token is not None
        self._place = lru_cache(maxsize=4_096)(self._placed)

    async def of(self, scope: Scope) -> Tenant | None:
        """None on the service's own host, unless it has a default tenant."""
        raw = header(scope, b"host")
        if raw is None:
            raise BadRequest("The request needs exactly one Host header.")
        place = self._place(raw)
        path = scope["path"]
        if path in _AT_ANY_HOST or (path == METRICS and self._shows_metrics):
            return None
        # Not for pages: a shared cache stores them only under the host's name.
        named = header(scope, b"x-tenant-id") if path.startswith(API_PREFIX) else None
        if named is None:
            return await self._at(place)
        at_host = None if isinstance(place, BareHost) else await self._at(place)
        try:
            return await self._find_named(named, at_host)
        except BadRequest as error:
            if path.startswith(V1_PREFIX):
                # The key is the credential, and it can't belong to an unknown tenant.
                raise Unauthenticated(str(error)) from None
            raise

    async def is_served(self, name: str) -> bool:
        """Whether a site or the service itself answers at a name that may have a certificate."""
        host = parse_host(name)
        if host.port is not None or "." not in host.name or is_address(host.name):
            return False
        try:
            await self._at(self._place(name))
        except NotFound:
            return False
        return True

    def _placed(self, raw_host: str) -> HostKind:
        return classify_host(
            parse_host(raw_host), self._settings.base_domain, self._settings.base_url
        )

    async def _at(self, place: HostKind) -> Tenant | None:
        if isinstance(place, BareHost):
            slug = self._settings.default_tenant
            return await self._directory.by_slug(slug) if slug else None
        if isinstance(place, Subdomain):
            tenant = await self._directory.by_slug(place.slug)
        else:
            tenant = await self._directory.by_domain(place.domain)
            if tenant is None and self._settings.canonical:
                # Leads to the domain, see `OneAddress`.
                tenant = await self._directory.by_domain(with_or_without_www(place.domain))
        if tenant is None:
            raise NotFound(UNKNOWN_HOST)
        return tenant

    async def _find_named(self, named: str, at_host: Tenant | None) -> Tenant:
        """`x-tenant-id` must not contradict a host that names a tenant."""
        tenant = at_host if at_host and at_host.id == named else await self._directory.by_id(named)
        if tenant is None:
            raise BadRequest("The x-tenant-id header names no tenant.")
        if at_host is not None and at_host.id != tenant.id:
            raise BadRequest("The x-tenant-id header names another tenant than the host does.")
        return tenant
