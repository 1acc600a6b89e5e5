"""Whose AI key a call uses, and where that key may be sent.

A tenant's key goes to the platform's address, to a provider that everybody knows, or to a host on a
network that the operator has listed; so a tenant can't make the service call just any address.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from masthead.ai.providers import BASE_URLS, DEFAULT_MODELS, Account
from masthead.ids import TenantId
from masthead.outbound.errors import OutboundError
from masthead.outbound.streams import RULES, Reach
from masthead.outbound.targets import read_url
from masthead.records.engine import Records
from masthead.setting_values import AiProvider, Secret
from masthead.settings import Settings
from masthead.site.collection import site_settings

WELL_KNOWN = frozenset(
    {
        "https://api.anthropic.com",
        "https://api.cerebras.ai",
        "https://api.cohere.ai",
        "https://api.deepseek.com",
        "https://api.fireworks.ai",
        "https://api.groq.com",
        "https://api.mistral.ai",
        "https://api.openai.com",
        "https://api.perplexity.ai",
        "https://api.together.xyz",
        "https://api.x.ai",
        "https://generativelanguage.googleapis.com",
        "https://openrouter.ai",
    }
)

NOT_CONFIGURED = (
    "AI is not configured. The site's settings take an AI key, "
    "and the operator can set one for the whole platform."
)
NOT_ALLOWED = "The AI address in the site's settings is not one that the operator allows."


class NotUsable(Exception):
    """There is no key to use, or no place that it may be sent to; the message may be shown."""


@dataclass(frozen=True, slots=True)
class SiteAi:
    """What a tenant's settings say about AI."""

    provider: AiProvider | None = None
    base_url: str = ""
    model: str = ""
    key: Secret = field(default=Secret(""), repr=False)
    per_minute: int | None = None
    per_day: int | None = None
    daily_tokens: int | None = None

    @property
    def has_key(self) -> bool:
        return bool(self.key)


@dataclass(frozen=True, slots=True)
class Destination:
    account: Account
    reach: Reach


async def site_ai(records: Records, tenant_id: TenantId | None) -> SiteAi:
    if tenant_id is None:
        return SiteAi()
    found = await records.find(site_settings, {}, tenant_id=tenant_id)
    if not found:
        return SiteAi()
    site = found[0]
    return SiteAi(
        provider=AiProvider(site["ai_provider"]) if site["ai_provider"] else None,
        base_url=site["ai_base_url"].rstrip("/"),
        model=site["ai_model"],
        key=Secret(records.reveal(site_settings, site, "ai_api_key")),
        per_minute=site["ai_per_minute"],
        per_day=site["ai_per_day"],
        daily_tokens=site["ai_daily_tokens"],
    )


def destination_of(site: SiteAi, settings: Settings) -> Destination:
    """Raises NotUsable."""
    return _of_tenant(site, settings) if site.has_key else _of_platform(settings)


def _of_platform(settings: Settings) -> Destination:
    provider = settings.ai_provider
    if provider is None or not settings.ai_key:
        raise NotUsable(NOT_CONFIGURED)
    base_url = settings.ai_base_url or BASE_URLS[provider]
    model = settings.ai_model or DEFAULT_MODELS[provider]
    return Destination(Account(provider, base_url, model, settings.ai_key), Reach.OPERATOR)


def _of_tenant(site: SiteAi, settings: Settings) -> Destination:
    provider = site.provider or settings.ai_provider or AiProvider.OPENAI
    platforms_model = settings.ai_model if provider is settings.ai_provider else None
    model = site.model or platforms_model or DEFAULT_MODELS[provider]
    base_url = site.base_url or settings.ai_base_url or BASE_URLS[provider]
    account = Account(provider, base_url, model, site.key)
    return Destination(account, _reach_of(base_url, settings))


def _reach_of(base_url: str, settings: Settings) -> Reach:
    if base_url == settings.ai_base_url:
        return Reach.OPERATOR
    try:
        origin = str(read_url(base_url, RULES[Reach.LISTED]).origin())
    except OutboundError:
        raise NotUsable(NOT_ALLOWED) from None
    if origin in WELL_KNOWN:
        return Reach.PUBLIC
    if not settings.outbound_allow:
        raise NotUsable(NOT_ALLOWED)
    return Reach.LISTED
