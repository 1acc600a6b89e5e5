"""Chooses the AI key, the model and the provider's URL of a call."""

from __future__ import annotations

import msgspec

from masthead.base.config.settings import Settings
from masthead.base.config.values import AiFor, AiProvider, Secret
from masthead.base.ids import TenantId
from masthead.engine.records.engine import Records
from masthead.features.ai.addresses import NotAllowed, policy_of
from masthead.features.ai.providers import BASE_URLS, DEFAULT_MODELS, Account
from masthead.features.site.collection import site_settings
from masthead.outside.outbound.policies import OutboundPolicy

NOT_CONFIGURED = (
    "AI is not configured. An owner sets a key in the admin under Settings, AI, "
    "or the operator sets one for all sites."
)
BAD_KEY = (
    "The AI key has a line break or another invalid character. Enter it again in the AI settings."
)


class AiUnavailable(Exception):
    """There is no usable key, or its URL is not allowed; the message may be shown."""


class SiteAi(msgspec.Struct, frozen=True):
    """The AI settings of a tenant."""

    provider: AiProvider | None = None
    base_url: str = ""
    model: str = ""
    key: Secret = Secret("")
    used_by: AiFor | None = None
    per_minute: int | None = None
    per_day: int | None = None
    daily_tokens: int | None = None

    @property
    def has_key(self) -> bool:
        return bool(self.key)


class Destination(msgspec.Struct, frozen=True):
    account: Account
    policy: OutboundPolicy


def used_by(ai_for: str | None, has_key: bool, settings: Settings) -> AiFor:
    """Who may use the AI of a site with this setting. The operator's default is about the
    platform's key."""
    if ai_for:
        return AiFor(ai_for)
    return AiFor.ANYONE if has_key else settings.ai_for


async def site_ai(records: Records, tenant_id: TenantId | None) -> SiteAi:
    if tenant_id is None:
        return SiteAi()
    site = await records.find_one(site_settings, {}, tenant_id=tenant_id)
    if not site:
        return SiteAi()
    return SiteAi(
        provider=AiProvider(site["ai_provider"]) if site["ai_provider"] else None,
        base_url=site["ai_base_url"].rstrip("/"),
        model=site["ai_model"],
        key=Secret(records.reveal(site_settings, site, "ai_api_key")),
        used_by=AiFor(site["ai_for"]) if site["ai_for"] else None,
        per_minute=site["ai_per_minute"],
        per_day=site["ai_per_day"],
        daily_tokens=site["ai_daily_tokens"],
    )


def destination_of(site: SiteAi, settings: Settings) -> Destination:
    """Raises AiUnavailable."""
    found = _of_tenant(site, settings) if site.has_key else _of_platform(settings)
    if not found.account.key.isprintable():
        # A line break would start another header.
        raise AiUnavailable(BAD_KEY)
    return found


def _of_platform(settings: Settings) -> Destination:
    provider = settings.ai_provider
    if provider is None or not settings.ai_key:
        raise AiUnavailable(NOT_CONFIGURED)
    base_url = settings.ai_base_url or BASE_URLS[provider]
    model = settings.ai_model or DEFAULT_MODELS[provider]
    return Destination(Account(provider, base_url, model, settings.ai_key), OutboundPolicy.OPERATOR)


def _of_tenant(site: SiteAi, settings: Settings) -> Destination:
    provider = site.provider or settings.ai_provider or AiProvider.OPENAI
    platform_model = settings.ai_model if provider is settings.ai_provider else None
    model = site.model or platform_model or DEFAULT_MODELS[provider]
    base_url = site.base_url or settings.ai_base_url or BASE_URLS[provider]
    account = Account(provider, base_url, model, site.key)
    try:
        return Destination(account, policy_of(base_url, settings))
    except NotAllowed as error:
        raise AiUnavailable(str(error)) from None
