"""AI: whose key is used, which model answers, how much it may cost a day, and what it has used."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from masthead.base.languages.formats import Numeral
from masthead.base.languages.words import words
from masthead.engine.records.derived.daily_counts import day_of
from masthead.faces.admin.charts import DAYS, Chart, bar_chart, last_days
from masthead.faces.admin.endpoint import Answer, Redirect
from masthead.faces.admin.environment import number
from masthead.faces.admin.forms import Ask, Form
from masthead.faces.admin.pages.settings.subnav import AI, in_settings
from masthead.faces.admin.request import AdminRequest
from masthead.features.ai.accounts import used_by
from masthead.features.ai.limits import PER_DAY, PER_MINUTE
from masthead.features.ai.providers import DEFAULT_MODELS
from masthead.features.site.collection import site_settings

_KEY: Final = "ai_api_key"
_OWN = (
    Ask(
        "ai_provider",
        words("Provider"),
        words("The kind of server. Choose OpenAI for any compatible server."),
        choices={"": words("The service's"), "openai": "OpenAI", "anthropic": "Anthropic"},
    ),
    Ask(
        _KEY,
        words("Key"),
        words("The site's own key. If empty, the site uses the service's key, if there is one."),
    ),
    Ask(
        "ai_model",
        words("Model"),
        words("If empty, the service's model or a small one of the provider."),
    ),
    Ask(
        "ai_base_url",
        words("Address"),
        words("The address of the server. If empty, the provider's own."),
    ),
)
_WHO: Final = "ai_for"
_LIMITS = (
    Ask(
        _WHO,
        words("Who can use it"),
        words(
            "Who can spend the key: everyone who can open the site, or only its staff in the admin."
        ),
        choices={"": words("The default"), "anyone": words("Anyone"), "staff": words("Staff only")},
    ),
    Ask(
        "ai_daily_tokens",
        words("Tokens a day"),
        words("Input and output together. Leave empty for no limit."),
    ),
    Ask("ai_per_day", words("Calls a day"), words("Empty is %(number)s.", number=Numeral(PER_DAY))),
    Ask("ai_per_minute", words("Calls a minute"), words("Empty is %(number)s.", number=PER_MINUTE)),
)
_ASKS = (*_OWN, *_LIMITS)


async def save_ai(request: AdminRequest) -> Answer:
    form = _form(request)
    given = {_KEY: ""} if request.form.get("remove") == _KEY else form.given(request)
    await request.records.update(request.caller, form.collection, request.site_record["id"], given)
    return Redirect(AI, words("Saved."))


def _form(request: AdminRequest) -> Form:
    # From the registry: there the address knows the operator's rules.
    return Form(request.records.registry[site_settings.name], _ASKS)


async def ai_page(request: AdminRequest) -> Answer:
    settings, record = request.services.settings, request.site_record
    platform = settings.ai_provider if settings.ai_key else None
    values = {
        **_form(request).values(request, record),
        "own": [ask.name for ask in _OWN],
        "limits": [ask.name for ask in _LIMITS],
        "has_key": bool(record[_KEY]),
        "platform": platform,
        "platform_model": (settings.ai_model or DEFAULT_MODELS[platform]) if platform else "",
        "budget": record["ai_daily_tokens"],
        "who": used_by(record[_WHO], bool(record[_KEY]), settings),
        "who_is_default": not record[_WHO],
        "address": AI,
        **await _usage(request),
    }
    return in_settings(request, "ai.html", words("AI"), values)


async def _usage(request: AdminRequest) -> dict[str, Chart | int]:
    now = request.records.clock()
    since = day_of(now - timedelta(days=DAYS - 1))
    used = await request.services.ai.generator.ledger.by_day(request.tenant_id, since)
    tokens = {day: each.tokens for day, each in used.items()}
    total = sum(tokens.values())
    sentence = words(
        "%(total)s tokens in %(days)s days, %(today)s of them today",
        total=number(total),
        days=DAYS,
        today=number(tokens.get(day_of(now), 0)),
    )
    return {
        "usage": bar_chart(sentence, last_days(tokens, now.date()), words("Tokens")),
        "calls": sum(each.calls for each in used.values()),
        "today": tokens.get(day_of(now), 0),
    }
