"""The rows of routes, and the search for the row of a path. A path without parameters is looked up
in a table; any other is matched only against the routes with the same first segments.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cached_property
from typing import Protocol, TypeAlias

import msgspec
from msgspec.structs import replace

from masthead.base.errors import MastheadError
from masthead.web.answers import Answer, Stream
from masthead.web.errors import ErrorResponder
from masthead.web.policy import Origin, Policy
from masthead.web.request import Request

Handler: TypeAlias = Callable[[Request], Awaitable[Answer | Stream]]


class Action(msgspec.Struct, frozen=True):
    """The handler of one method of a path, and for whom it is."""

    handler: Handler
    policy: Policy


ANY_METHOD = "*"
Actions: TypeAlias = Mapping[str, Action]
"""Actions by method."""


def reading(handler: Handler, policy: Policy) -> Actions:
    """GET and HEAD, whose response is GET's without its body: the server leaves that out."""
    action = Action(handler, policy)
    return {"GET": action, "HEAD": action}


class _Path(msgspec.Struct, frozen=True, dict=True):
    """`{name}` in a path is a segment, `{name:path}` any rest."""

    path: str

    def match(self, path: str) -> dict[str, str] | None:
        """The parameters in a path that is this route's."""
        found = self._pattern.fullmatch(path)
        return found.groupdict() if found else None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(_PARAMETER.sub(_group, re.escape(self.path)), re.DOTALL)


_PARAMETER = re.compile(r"\\\{(\w+)(:path)?\\\}")


def _group(parameter: re.Match[str]) -> str:
    return f"(?P<{parameter[1]}>{'.*' if parameter[2] else '[^/]+'})"


class Route(_Path, frozen=True):
    actions: Actions
    error_answer: ErrorResponder | None = None
    """How a refusal is shown, where the path's prefix does not say it: see `ErrorResponders`."""

    def __post_init__(self) -> None:
        if not self.actions:
            raise ValueError(f"{self.path} does nothing")
        for method, action in self.actions.items():
            action.policy.check(method)

    @cached_property
    def any_method(self) -> Policy:
        """The checks before a request gets a 405."""
        first = next(iter(self.actions.values())).policy
        return replace(first, scope="", origin=Origin.ANY, body=None)


class Face(Protocol):
    @property
    def routes(self) -> Dispatch: ...

    async def error_answer(self, request: Request, error: MastheadError) -> Answer | Stream: ...


class LazyFace:
    """A face that is imported and built after the start, or by its first request. The front door
    asks it for the routes of all its paths.

    `build` runs in a thread, because it takes some tenths of a second: the event loop answers other
    requests meanwhile, and those to this face wait."""

    def __init__(self, build: Callable[[], Face]) -> None:
        self._build = build
        self._face: Face | None = None
        self._building = asyncio.Lock()

    async def load(self) -> Face:
        if self._face is None:
            async with self._building:
                if self._face is None:
                    self._face = await asyncio.to_thread(self._build)
        return self._face

    async def error_answer(self, request: Request, error: MastheadError) -> Answer | Stream:
        return await (await self.load()).error_answer(request, error)


class LazyRoute(_Path, frozen=True):
    """A path of a face that is not built yet, which has the route."""

    face: LazyFace


_IN_A_LANGUAGE = re.compile(r"(/[a-z]{2,3}(?:-[a-z0-9]{2,8})*)(/.*)", re.DOTALL)
"""A language tag in lower case, and the rest of the path."""


class Dispatch:
    """Routes have distinct paths."""

    def __init__(
        self,
        routes: Iterable[Route | LazyRoute],
        fallback: Route,
        in_languages: Iterable[Route] = (),
    ) -> None:
        """`in_languages`: the routes that paths below a language lead to as well, such as
        `/de/archive`. Whether the site has the language is for their handlers to find out."""
        self.routes = tuple(routes)
        self._fallback = fallback
        self._own = {each.path.split("/")[1] for each in self.routes}
        """The first segments of paths that are no languages, such as `api`."""
        below = tuple(in_languages)
        self._in_languages = Dispatch(below, fallback) if below else None
        self._exact: dict[str, Route | LazyRoute] = {}
        self._by_prefix: dict[str, list[Route | LazyRoute]] = defaultdict(list)
        for each in self.routes:
            self._add(each)

    def _add(self, route: Route | LazyRoute) -> None:
        prefix = _prefix(route.path)
        if "{" in prefix or route.path in self._exact:
            raise ValueError(f"{route.path} can't be found by its prefix")
        if "{" in route.path:
            self._by_prefix[prefix].append(route)
        else:
            self._exact[route.path] = route

    def find(self, request: Request) -> Route | LazyRoute:
        """The route of the path, whose parameters become the request's."""
        path = request.scope["path"]
        found = self._find(request, path)
        if found is not None:
            return found
        parts = _IN_A_LANGUAGE.fullmatch(path) if self._in_languages is not None else None
        if self._in_languages is None or parts is None or parts[1][1:] in self._own:
            return self._fallback
        request.language_root, rest = parts[1], parts[2]
        return self._in_languages._find(request, rest) or self._fallback

    def _find(self, request: Request, path: str) -> Route | LazyRoute | None:
        exact = self._exact.get(path)
        if exact is not None:
            return exact
        for route in self._by_prefix.get(_prefix(path), ()):
            parameters = route.match(path)
            if parameters is not None:
                request.path_parameters = parameters
                return route
        return None


def _prefix(path: str) -> str:
    """The first segment, and the second under /api."""
    if path.startswith("/api/"):
        return path[: path.find("/", 5) + 1 or None]
    return path[: path.find("/", 1) + 1 or None]
