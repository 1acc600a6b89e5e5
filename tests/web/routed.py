"""Some routes without a service: an application whose responses are sent as the front door does."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.types import ASGIApp, Receive, Scope, Send

from masthead.errors import NotFound
from masthead.web.answers import Answer, Endpoint
from masthead.web.dispatch import Dispatch, Route
from masthead.web.front_door import respond
from masthead.web.sending import Sending


class Nothing(Endpoint):
    """Finds nothing anywhere."""

    async def answer(self, scope: Scope, receive: Receive) -> Answer:
        raise NotFound


class Broken(Endpoint):
    """Fails in a way that nobody expects."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def answer(self, scope: Scope, receive: Receive) -> Answer:
        raise self._error


def routed(routes: Iterable[Route], fallback: Endpoint | None = None) -> ASGIApp:
    """A path without a route is 404, and so is what the fallback does not find."""
    dispatch = Dispatch(routes, fallback or Nothing())

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        sending = Sending(scope, send)
        try:
            await respond(dispatch, scope, receive, sending)
        except NotFound:
            await sending.answer(Answer(404))

    return app
