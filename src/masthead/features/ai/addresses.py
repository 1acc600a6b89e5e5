"""The URLs that a tenant's AI key may be sent to, checked when saved and again at each call.

A tenant may use the platform's own URL, a well-known provider, or a host on a network that the
operator has listed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec.structs import asdict

from masthead.base.config.settings import Settings
from masthead.engine.records.fields.base import Field, refuse
from masthead.engine.records.fields.text import Url
from masthead.engine.records.registry import Registry
from masthead.features.site.collection import site_settings
from masthead.outside.outbound.errors import OutboundError
from masthead.outside.outbound.policies import POLICY_RULES, OutboundPolicy
from masthead.outside.outbound.targets import allowed_addresses, literal_address, parse_url

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

NOT_ALLOWED = "The AI address in the site's settings is not one that the operator allows."
_FIELD = "ai_base_url"


class NotAllowed(Exception):
    """The operator does not allow this URL; the message may be shown."""

    def __init__(self) -> None:
        super().__init__(NOT_ALLOWED)


def policy_of(base_url: str, settings: Settings) -> OutboundPolicy:
    """The policy of calls to the tenant's URL; raises NotAllowed."""
    if base_url == settings.ai_base_url:
        return OutboundPolicy.OPERATOR
    try:
        url = parse_url(base_url, POLICY_RULES[OutboundPolicy.LISTED])
        if str(url.origin()) in WELL_KNOWN:
            return OutboundPolicy.PUBLIC
        literal = literal_address(url)
        if literal is not None:
            allowed_addresses(
                [literal],
                url.port or 0,
                POLICY_RULES[OutboundPolicy.LISTED],
                settings.outbound_allow,
            )
    except OutboundError:
        raise NotAllowed from None
    if not settings.outbound_allow:
        raise NotAllowed
    # A name's address is checked when it is called.
    return OutboundPolicy.LISTED


class AiAddress(Url, frozen=True, kw_only=True):
    """A URL that the operator allows."""

    check_policy: Callable[[str], OutboundPolicy]

    def parse(self, value: Any) -> str:
        address = super().parse(value)
        try:
            self.check_policy(address.rstrip("/"))
        except NotAllowed as error:
            raise refuse("validation_invalid_url", str(error)) from None
        return address


def with_operator_rules(registry: Registry, settings: Settings) -> Registry:
    """The same collections, in which a site's AI URL is checked against the settings."""
    check = partial(policy_of, settings=settings)
    return registry.with_fields_bound(site_settings.name, partial(_bound, check=check))


def _bound(declared: Field, check: Callable[[str], OutboundPolicy]) -> Field:
    if declared.name != _FIELD:
        return declared
    return AiAddress(**asdict(declared), check_policy=check)
