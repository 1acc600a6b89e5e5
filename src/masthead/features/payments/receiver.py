"""The two endpoints that the payment processor calls: a tenant's own, and the platform's.

The signature over the raw bytes is checked before the body is parsed. An event and all changes that
it causes are committed together, once.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.errors import BadRequest, Invalid, NotFound
from masthead.base.ids import TenantId
from masthead.base.languages.words import staff_marked
from masthead.base.logs import log
from masthead.features.payments import description
from masthead.features.payments.handlers import HANDLERS
from masthead.features.payments.payloads import PaymentEvent, parse_event, tenant_in_metadata
from masthead.features.payments.services import PaymentServices
from masthead.features.payments.signatures import PARSERS, is_authentic
from masthead.features.site.collection import site_settings
from masthead.identity.directory import Tenant
from masthead.identity.hosts import BareHost, classify_host, parse_host
from masthead.web.answers import Answer, json_answer
from masthead.web.policy import Body, BodyKind, Policy, WhileSuspended, Who
from masthead.web.request import Request
from masthead.web.rows import RouteRow
from masthead.web.services import RoomServices

TENANT_PREFIX = "/api/member-webhook/"
PLATFORM_PATH = "/api/payment/webhook"
MAX_BODY_BYTES = 1024 * 1024
REFUSAL_EVERY = timedelta(minutes=1)
"""Refused events come from anyone, so they may not cause a write each."""

NO_RECEIVER = "No payments are received at this URL."
TEST_EVENT = staff_marked("a test event, while the tenant's payment key is a live one")
CONNECTED = staff_marked("an event of a connected account: send those to the tenant's own URL")

_SLUG = re.compile(r"[a-z0-9-]{1,63}")
_LIVE_KEY = re.compile(r"[a-z]+_live_")


POLICY = Policy(
    who=Who.SIGNATURE,
    # A payment that is not taken is lost.
    while_suspended=WhileSuspended.OPEN,
    body=Body(BodyKind.RAW, MAX_BODY_BYTES, readers=MAX_BODY_BYTES),
)


class _WrongSignature(BadRequest):
    def __init__(self) -> None:
        super().__init__("The signature does not match the payload, the secret or the time.")


class _Receiver:
    def __init__(self, services: RoomServices[PaymentServices]) -> None:
        self._records = services.web.records
        self._inbox = services.own.inbox
        self._directory = services.web.directory
        self._settings = services.web.settings

    async def _authentic(self, request: Request, secret: str, now: datetime) -> PaymentEvent:
        sent = {name: request.header(name.encode()) for name in PARSERS}
        headers = {name: value for name, value in sent.items() if value is not None}
        if not headers:
            raise BadRequest("The request has no signature. Send one with the payload.")
        raw_body = await request.body()
        if not is_authentic(headers, secret, raw_body, int(now.timestamp())):
            raise _WrongSignature
        return parse_event(raw_body, now)

    async def _process(self, tenant_id: TenantId, event: PaymentEvent, reason: str) -> None:
        if await self._inbox.has(tenant_id, event):
            return
        try:
            async with self._records.unit(system(tenant_id)) as unit:
                received = clock.to_text(self._records.clock())
                if not await self._inbox.add(unit, event, received):
                    return
                note = reason or await HANDLERS[event.type](unit, self._inbox, event)
                if note:
                    await self._inbox.note(unit, event, note)
        except Invalid as error:
            fields = ", ".join(error.problems)
            raise BadRequest(f"The payment event contains invalid values: {fields}.") from (error)
        if note:
            log.warning("payments.not_acted_on", tenant_id=tenant_id, event_id=event.id, why=note)


class _TenantReceiver(_Receiver):
    """`POST /api/member-webhook/{slug}`, with the tenant's own secret."""

    async def receive(self, request: Request) -> Answer:
        tenant = await self._tenant(request)
        found = await self._records.find_one(site_settings, {}, tenant_id=tenant.id)
        secret, key = (
            self._records.reveal(site_settings, found, name) if found else ""
            for name in ("member_payment_webhook_secret", "member_payment_secret_key")
        )
        if not secret:
            raise NotFound(NO_RECEIVER)
        try:
            event = await self._authentic(request, secret, self._records.clock())
        except _WrongSignature:
            await self._remember_refusal(tenant.id)
            raise
        if event.type in HANDLERS:
            is_test = event.is_live is False and _LIVE_KEY.match(key)
            await self._process(tenant.id, event, TEST_EVENT if is_test else "")
        return json_answer(200, description.RECEIVED)

    async def _remember_refusal(self, tenant_id: TenantId) -> None:
        """For the owner, whose secret may be the wrong one."""
        now = self._records.clock()
        last = await self._inbox.last_refusal(tenant_id)
        if last and now < clock.from_text(last) + REFUSAL_EVERY:
            return
        async with self._records.unit(system(tenant_id), emit_events=False) as unit:
            await self._inbox.set_last_refusal(unit, clock.to_text(now))

    async def _tenant(self, request: Request) -> Tenant:
        slug = request.path_parameters["slug"]
        tenant = await self._directory.by_slug(slug) if _SLUG.fullmatch(slug) else None
        if tenant is None or not self._is_allowed_host(request, tenant):
            raise NotFound(NO_RECEIVER)
        return tenant

    def _is_allowed_host(self, request: Request, tenant: Tenant) -> bool:
        """The service's own host, which may also serve a default tenant, accepts any slug."""
        at_host = request.tenant
        if at_host is None or at_host.id == tenant.id:
            return True
        host = parse_host(request.header(b"host") or "")
        place = classify_host(host, self._settings.base_domain, self._settings.base_url)
        return isinstance(place, BareHost)


class _PlatformReceiver(_Receiver):
    """`POST /api/payment/webhook`, with the platform's secret; the payload names the tenant."""

    async def receive(self, request: Request) -> Answer:
        secret = self._settings.payment_webhook_secret
        if secret is None:
            raise NotFound(NO_RECEIVER)
        event = await self._authentic(request, str(secret), self._records.clock())
        if event.type in HANDLERS:
            tenant = await self._tenant(event)
            # A connected account could name any tenant in its metadata.
            await self._process(tenant.id, event, CONNECTED if event.account else "")
        return json_answer(200, description.RECEIVED)

    async def _tenant(self, event: PaymentEvent) -> Tenant:
        tenant_id, slug = tenant_in_metadata(event.subject)
        if tenant_id:
            tenant = await self._directory.by_id(tenant_id)
        else:
            tenant = await self._directory.by_slug(slug) if slug else None
        if tenant is None or (slug and tenant.slug != slug):
            raise NotFound("The payment event's metadata names no tenant of this service.")
        return tenant


async def receive_for_tenant(services: RoomServices[PaymentServices], request: Request) -> Answer:
    return await _TenantReceiver(services).receive(request)


async def receive_for_platform(services: RoomServices[PaymentServices], request: Request) -> Answer:
    return await _PlatformReceiver(services).receive(request)


ROWS = (
    RouteRow("POST", TENANT_PREFIX + "{slug}", receive_for_tenant, POLICY, description.TENANT),
    RouteRow("POST", PLATFORM_PATH, receive_for_platform, POLICY, description.PLATFORM),
)
