"""Where a tenant's AI key may be sent, asked when the setting is saved and again at each call.

A tenant can't make the service call just any address: it may name the platform's own, a provider
that everybody knows, or a host on a network that the operator has listed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

from masthead.config.settings import Settings
from masthead.outbound.errors import OutboundError
from masthead.outbound.reach import RULES, Reach
from masthead.outbound.targets import literal_address, reachable, read_url
from masthead.records.collection import Registry
from masthead.records.fields.base import Field, refuse
from masthead.records.fields.text import Url
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

NOT_ALLOWED = "The AI address in the site's settings is not one that the operator allows."
_FIELD = "ai_base_url"


class NotAllowed(Exception):
    """The operator does not let a tenant's key go there; the message may be shown."""

    def __init__(self) -> None:
        super().__init__(NOT_ALLOWED)


def reach_of(base_url: str, settings: Settings) -> Reach:
    """How far a call to the tenant's address may go; raises NotAllowed."""
    if base_url == settings.ai_base_url:
        return Reach.OPERATOR
    try:
        url = read_url(base_url, RULES[Reach.LISTED])
        if str(url.origin()) in WELL_KNOWN:
            return Reach.PUBLIC
        literal = literal_address(url)
        if literal is not None:
            reachable([literal], url.port or 0, RULES[Reach.LISTED], settings.outbound_allow)
    except OutboundError:
        raise NotAllowed from None
    if not settings.outbound_allow:
        raise NotAllowed
    # Where a name leads is only known when it is called, and is asked there.
    return Reach.LISTED


@dataclass(frozen=True, kw_only=True)
class AiAddress(Url):
    """An address that the operator allows."""

    check_reach: Callable[[str], Reach] = field(repr=False, compare=False)

    def parse(self, value: Any) -> str:
        address = super().parse(value)
        try:
            self.check_reach(address.rstrip("/"))
        except NotAllowed as error:
            raise refuse("validation_invalid_url", str(error)) from None
        return address


def under_operator(registry: Registry, settings: Settings) -> Registry:
    """The same collections, in which a site's AI address is one that these settings allow."""
    check = partial(reach_of, settings=settings)
    return registry.with_fields_bound(site_settings.name, partial(_bound, check=check))


def _bound(declared: Field, check: Callable[[str], Reach]) -> Field:
    if declared.name != _FIELD:
        return declared
    values = {each.name: getattr(declared, each.name) for each in fields(declared)}
    return AiAddress(**values, check_reach=check)
