"""Whose AI key a call uses, for which model, and where it goes."""

from __future__ import annotations

from dataclasses import dataclass, field

from masthead.ai.addresses import NotAllowed, reach_of
from masthead.ai.providers import BASE_URLS, DEFAULT_MODELS, Account
from masthead.config.settings import Settings
from masthead.config.values import AiProvider, Secret
from masthead.ids import TenantId
from masthead.outbound.reach import Reach
from masthead.records.engine import Records
from masthead.site.collection import site_settings

NOT_CONFIGURED = (
    "AI is not configured. The site's settings take an AI key, "
    "and the operator can set one for the whole platform."
)
BAD_KEY = (
    "The AI key has a line end or another character that no key may have. "
    "Enter it again in the AI settings."
)


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
    found = _of_tenant(site, settings) if site.has_key else _of_platform(settings)
    if not found.account.key.isprintable():
        # It would begin another header.
        raise NotUsable(BAD_KEY)
    return found


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
    try:
        return Destination(account, reach_of(base_url, settings))
    except NotAllowed as error:
        raise NotUsable(str(error)) from None
