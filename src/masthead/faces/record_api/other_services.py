"""PocketBase's services for its superusers that Masthead has under other names: each address says
what to use instead."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from masthead.base.errors import NotFound
from masthead.web.answers import Answer
from masthead.web.dispatch import ANY_METHOD, Action, Route
from masthead.web.policy import Policy, WhileSuspended, Who
from masthead.web.request import Request

INSTEAD = {
    "/api/settings": "The service is configured by its environment, and a site in `site_settings`.",
    "/api/logs": "The log goes to standard error; `audit_log` has what staff have changed.",
    "/api/crons": "The worker runs by itself what is due; `masthead doctor` says if it does.",
    "/api/backups": "Make and restore backups with `masthead backup` and `masthead restore`.",
    "/api/sql": "There is no SQL over HTTP. Read records with a filter.",
}


def routes() -> list[Route]:
    policy = Policy(who=Who.ANYONE, while_suspended=WhileSuspended.OPERATORS)
    return [
        Route(path, {ANY_METHOD: Action(_refusal(sentence), policy)})
        for prefix, sentence in INSTEAD.items()
        for path in (prefix, f"{prefix}/{{rest:path}}")
    ]


def _refusal(sentence: str) -> Callable[[Request], Awaitable[Answer]]:
    async def refuse(_: Request) -> Answer:
        raise NotFound(f"Masthead does not have this service of PocketBase. {sentence}")

    return refuse
