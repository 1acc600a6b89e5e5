"""Some routes without a service: an application whose responses are sent as the front door does."""

from __future__ import annotations

from collections.abc import Iterable

from masthead.base.errors import NotFound
from masthead.web.answers import Answer
from masthead.web.asgi import ASGIApp, Receive, Scope, Send
from masthead.web.checks import Checks
from masthead.web.dispatch import ANY_METHOD, Action, Dispatch, Handler, LazyRoute, Route
from masthead.web.front_door import respond, send_answer
from masthead.web.policy import Policy, WhileSuspended, Who
from masthead.web.request import Request
from masthead.web.sending import Sending

OPEN = Policy(who=Who.ANYONE, while_suspended=WhileSuspended.OPEN)


def everywhere(handler: Handler) -> Route:
    """Answers every path and method."""
    return at("/{rest:path}", handler)


def at(path: str, handler: Handler) -> Route:
    return Route(path, {ANY_METHOD: Action(handler, OPEN)})


def nothing() -> Route:
    """Finds nothing anywhere."""
    return broken(NotFound())


def broken(error: Exception) -> Route:
    """Fails, in a way that nobody may expect."""

    async def fail(_: Request) -> Answer:
        raise error

    return everywhere(fail)


def routed(routes: Iterable[Route | LazyRoute], fallback: Route | None = None) -> ASGIApp:
    """A path without a route is 404, and so is what the fallback does not find."""
    dispatch = Dispatch(routes, fallback or nothing())
    # Open routes ask for no service.
    checks = Checks(**dict.fromkeys(Checks.__struct_fields__))  # type: ignore[arg-type]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        sending = Sending(scope, send)
        try:
            await send_answer(sending, await respond(dispatch, checks, Request(scope, receive)))
        except NotFound:
            await sending.answer(Answer(404))

    return app
