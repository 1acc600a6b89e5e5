"""Tries a filter on the last events, before it is saved."""

from __future__ import annotations

import msgspec

from masthead.base.errors import Problem
from masthead.base.languages.words import words
from masthead.engine.records.fields.base import FieldError
from masthead.faces.admin.forms import sentence_of
from masthead.faces.admin.pages.webhooks.deliveries import moment_of
from masthead.faces.admin.request import AdminRequest
from masthead.features.webhooks.collection import webhook_subscriptions
from masthead.features.webhooks.event_filter import passes
from masthead.features.webhooks.replays import LoggedEvent, names_of

_NAMES = ("title", "name", "code")
"""Fields of payloads that tell people which record it is; the first of them is shown."""
_NAME_CHARACTERS = 80


class TriedEvent(msgspec.Struct, frozen=True):
    event: str
    about: str
    when: str
    is_sent: bool


class Trial(msgspec.Struct, frozen=True):
    sentence: str
    is_wrong: bool = False
    events: tuple[TriedEvent, ...] = ()


async def try_filter(request: AdminRequest, chosen: list[str], typed: str) -> Trial:
    """`chosen`: the events that are ticked in the form."""
    if not chosen:
        return Trial(words("Choose events first: the filter is tried on the last ones of those."))
    try:
        filter_ = webhook_subscriptions.by_name["filter"].check(typed)
    except FieldError as error:
        return Trial(_sentence(error.problem), is_wrong=True)
    found = await request.services.webhooks.replays.newest(request.tenant_id, names_of(chosen))
    if not found:
        return Trial(words("None of the chosen events has happened in the last 90 days."))
    tried = tuple(_tried(request, each, filter_) for each in found)
    return Trial(_counted(sum(each.is_sent for each in tried), len(tried)), events=tried)


def _sentence(problem: Problem) -> str:
    return words("The filter can’t be used. %(sentence_of)s", sentence_of=sentence_of(problem))


def _counted(matched: int, total: int) -> str:
    if total == 1:
        return words("Would have matched %(matched)s of the one event so far.", matched=matched)
    return words(
        "Would have matched %(matched)s of the last %(total)s events.", matched=matched, total=total
    )


def _tried(request: AdminRequest, event: LoggedEvent, filter_: str) -> TriedEvent:
    data = msgspec.json.decode(event.payload)
    about = next((data[name] for name in _NAMES if isinstance(data.get(name), str)), "")
    return TriedEvent(
        event.name,
        about[:_NAME_CHARACTERS],
        moment_of(request, event.created),
        passes(filter_, event),
    )
