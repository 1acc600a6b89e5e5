"""Some routes without a service: an application whose responses are sent as the front door does."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.types import ASGIApp, Receive, Scope, Send

from masthead.errors import NotFound
from masthead.web.answers import Answer
from masthead.web.dispatch import Dispatch, Route
from masthead.web.front_door import respond
from masthead.web.sending import Sending


async def nothing(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise NotFound


def routed(routes: Iterable[Route], fallback: ASGIApp = nothing) -> ASGIApp:
    """A path without a route is 404, and so is what the fallback does not find."""
    dispatch = Dispatch(routes, fallback)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        sending = Sending(scope, send)
        try:
            await respond(dispatch, scope, receive, sending)
        except NotFound:
            await sending.answer(Answer(404))

    return app
