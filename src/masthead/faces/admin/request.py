"""One request to the admin: who is signed in, at which site, and what is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Unpack
from zoneinfo import ZoneInfo

import msgspec
from msgspec.structs import replace

from masthead.base import clock
from masthead.base.caller import Caller, Kind
from masthead.base.errors import NotFound, Problem
from masthead.base.ids import TenantId
from masthead.base.languages.translators import ADMIN_LANGUAGES, accepted_language
from masthead.base.languages.words import words
from masthead.engine.audit.entries import log_action
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.engine import Records
from masthead.engine.records.read.record_reader import FirstOf
from masthead.faces.admin.environment import AdminTemplates, when
from masthead.faces.admin.job_queue import QueueState
from masthead.faces.reader.preview import Previews
from masthead.faces.services import FaceServices
from masthead.features.mailings.sending_domains import SendingDomains
from masthead.features.password_reset.invitations import Invitations
from masthead.features.payments.reconcile import Reports
from masthead.features.site.address import site_url
from masthead.features.site.domain_proof import DomainProofs
from masthead.features.site.mail_trial import TestMails
from masthead.features.site.record_view import SettingsRecord, as_settings
from masthead.identity.directory import Tenant
from masthead.identity.sign_ins import Client
from masthead.web.answers import header
from masthead.web.asgi import Scope
from masthead.web.cookies import own_cookie
from masthead.web.multipart import Upload
from masthead.web.query_string import parse_query_string
from masthead.web.request import Request
from masthead.web.staff import form_binding, page_owner

THEME_COOKIE = "mh_theme"
KEYS_COOKIE = "mh_keys"
THEMES = ("light", "dark")


class AdminTools(msgspec.Struct, frozen=True, kw_only=True):
    """The tools that only the admin needs; made with the face, after the start."""

    templates: AdminTemplates
    invitations: Invitations
    domains: DomainProofs
    sending: SendingDomains
    test_mails: TestMails
    payment_reports: Reports
    previews: Previews
    queue: QueueState


class Count(msgspec.Struct, frozen=True):
    number: int
    what: str
    """In words, such as "waiting"."""
    is_bad: bool = False
    has_more: bool = False
    """Only so many were counted."""


class AdminRequest(msgspec.Struct, dict=True):
    services: FaceServices
    tools: AdminTools
    context: Request
    caller: Caller
    """Staff of the site, an operator, or a guest who is not signed in."""
    account: Record
    """The caller's own; empty for a guest."""
    site: Tenant | None
    """None for an operator who has not chosen one, and for a guest on the service's own host."""
    site_record: SettingsRecord
    """The site's settings; empty without a site."""
    waiting: dict[str, Count] = msgspec.field(default_factory=dict)
    """How much waits behind a link of the frame, by its address."""
    sells: bool = True
    """False hides the shop in the menu: nothing is for sale, and nothing was sold."""
    problems: Mapping[str, Problem] = msgspec.field(default_factory=dict)
    """Problems of the form that was sent, by the names of its fields."""

    @property
    def scope(self) -> Scope:
        return self.context.scope

    @property
    def form(self) -> dict[str, str]:
        return self.context.form

    @property
    def files(self) -> list[Upload]:
        return self.context.files

    @property
    def records(self) -> Records:
        return self.services.records

    async def first(
        self, collection: Collection, most: int, **wanted: Unpack[FirstOf]
    ) -> list[Record]:
        """The first records of a list that the caller may see."""
        return await self.records.first(self.caller, collection, most, **wanted)

    @property
    def language(self) -> str:
        """The account's, or the one that the browser asks for."""
        chosen = str(self.account.get("language", ""))
        if chosen in ADMIN_LANGUAGES:
            return chosen
        return browser_language(self.scope)

    @property
    def is_signed_in(self) -> bool:
        return self.caller.kind is not Kind.GUEST

    @property
    def is_operator(self) -> bool:
        return self.caller.kind is Kind.OPERATOR

    @property
    def everywhere(self) -> Caller:
        """An operator, in all sites."""
        assert self.is_operator
        return replace(self.caller, tenant_id=None)

    @property
    def path(self) -> str:
        return self.context.path

    @property
    def address(self) -> str:
        """The path with its query string."""
        query = self.scope["query_string"].decode("latin-1")
        return f"{self.path}?{query}" if query else self.path

    @cached_property
    def query(self) -> dict[str, str]:
        given = parse_query_string(self.scope["query_string"], "utf-8")
        # PostgreSQL would refuse NUL as a parameter.
        return {name: value.replace("\0", "") for name, value in given.items()}

    @property
    def is_fragment(self) -> bool:
        """htmx wants a part of the page. When it restores a page it wants all of it."""
        is_restored = header(self.scope, b"hx-history-restore-request") == "true"
        return header(self.scope, b"hx-request") == "true" and not is_restored

    @property
    def is_shut_out(self) -> bool:
        """Staff of a suspended site. An operator works there as before."""
        return self.site is not None and self.site.is_suspended and not self.is_operator

    @property
    def tenant(self) -> Tenant:
        if self.site is None:
            raise NotFound(words("This page belongs to a site. Choose one first."))
        return self.site

    @property
    def tenant_id(self) -> TenantId:
        return self.tenant.id

    @property
    def site_name(self) -> str:
        if self.site is None:
            return "Masthead"
        return str(self.site_record.get("site_name") or self.site.name)

    @property
    def site_url(self) -> str:
        if self.site is None:
            return self.services.settings.base_url.rstrip("/")
        domain = self.site_record.get("custom_domain", "")
        return site_url(self.services.settings, self.site.slug, domain)

    @property
    def form_binding(self) -> str:
        return form_binding(self.context)

    @property
    def page_owner(self) -> str:
        return page_owner(self.context)

    @cached_property
    def time_zone(self) -> ZoneInfo:
        return ZoneInfo(self.site_record.get("time_zone") or "UTC")

    @cached_property
    def now(self) -> datetime:
        """In the site's time zone."""
        return self.records.clock().astimezone(self.time_zone)

    def local(self, text: str) -> datetime:
        return clock.from_text(text).astimezone(self.time_zone)

    def when(self, text: str) -> str:
        return when(self.local(text), self.now)

    @property
    def theme(self) -> str:
        chosen = own_cookie(self.scope, THEME_COOKIE)
        return chosen if chosen in THEMES else ""

    @property
    def client(self) -> Client:
        return self.context.client

    async def note(self, action: str) -> None:
        """Writes into the audit log what the caller does without changing a record."""
        async with self.records.unit(self.caller) as unit:
            log_action(unit, action)

    @property
    def has_single_keys(self) -> bool:
        return own_cookie(self.scope, KEYS_COOKIE) != "off"


def browser_language(scope: Scope) -> str:
    return accepted_language(header(scope, b"accept-language") or "", ADMIN_LANGUAGES)


async def open_request(services: FaceServices, tools: AdminTools, request: Request) -> AdminRequest:
    if not request.is_staff_known:
        # A page for anyone: the checks did not ask.
        await services.staff.identify(request)
    site, caller = request.site, request.caller
    assert caller is not None
    record = as_settings(await _settings(services, site.id) if site else {})
    return AdminRequest(services, tools, request, caller, request.account, site, record)


async def _settings(services: FaceServices, site_id: TenantId) -> Record:
    version = (await services.versions.of(site_id)).identity
    stored = await services.directory.site_records(site_id, version)
    return (stored and stored.settings) or {}


def path_values(request: Request, names: Sequence[str]) -> list[str]:
    values = [request.path_parameters[name] for name in names]
    if any("\0" in each for each in values):
        raise NotFound
    return values
