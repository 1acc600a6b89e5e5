"""A path finds the same route as Starlette's router would find, by a quicker way."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.routing import Route as StarletteRoute
from starlette.routing import Router
from starlette.types import Message, Receive, Scope, Send
from tests.web.routed import at, nothing

from masthead.web.answers import Answer
from masthead.web.dispatch import Action, Dispatch, Route
from masthead.web.policy import Cache, Limit, Origin, Policy, Who
from masthead.web.request import Request

PATHS = (
    "/api/health",
    "/api/v1/posts",
    "/api/v1/posts/{id}",
    "/api/v1/docs",
    "/api/v1/posts/{id}/test",
    "/api/v1/{rest:path}",
    "/api/files/token",
    "/api/files/{collection}/{id}/{name}",
    "/media/{id}/{name}",
    "/member/unsubscribe",
)
ASKED = [
    ("/api/health", "/api/health"),
    ("/api/health/", None),
    ("/api//health", None),
    ("//api/health", None),
    ("/API/health", None),
    ("/api/v1/posts", "/api/v1/posts"),
    ("/api/v1/posts/", "/api/v1/{rest:path}"),
    ("/api/v1/posts/x", "/api/v1/posts/{id}"),
    ("/api/v1/posts/x y%2F", "/api/v1/posts/{id}"),
    ("/api/v1/posts/a/b", "/api/v1/{rest:path}"),
    ("/api/v1/posts/a/test", "/api/v1/posts/{id}/test"),
    ("/api/v1/docs", "/api/v1/docs"),
    ("/api/v1/", "/api/v1/{rest:path}"),
    ("/api/v1//", "/api/v1/{rest:path}"),
    ("/api/v1", None),
    ("/api/v2/posts", None),
    ("/api/", None),
    ("/api", None),
    ("/api/files/token", "/api/files/token"),
    ("/api/files/a/b/c", "/api/files/{collection}/{id}/{name}"),
    ("/api/files/a//c", None),
    ("/api/files/a/b/c/d", None),
    ("/api/files/", None),
    ("/media/a/b.png", "/media/{id}/{name}"),
    ("/media/../b.png", "/media/{id}/{name}"),
    ("/media/a/", None),
    ("//media/a/b", None),
    ("//other.example/media/a/b", None),
    ("/member/unsubscribe", "/member/unsubscribe"),
    ("/member/", None),
    ("/media/{id}/{name}", "/media/{id}/{name}"),
    ("/", None),
    ("", None),
    ("*", None),
    ("media/a/b", None),
    ("/\u00e9/\u4e2d", None),
]


async def answer(_: Request) -> Answer:
    return Answer(200)


class Face:
    """Records its requests. Not a function, so that Starlette does not check methods."""

    def __init__(self, name: str | None, calls: list[Any]) -> None:
        self.name = name
        self._calls = calls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._calls.append((self.name, scope.get("path_params") or {}))


async def _nothing() -> Message:
    return {}


async def _ignore(_: Message) -> None:
    """The fallback."""


def found_by_table(scope: Scope) -> Any:
    fallback = at("/{nothing:path}", answer)
    request = Request(scope, _nothing)
    found = Dispatch([at(path, answer) for path in PATHS], fallback).find(request)
    return None if found is fallback else found.path, request.path_parameters


async def found_by_router(scope: Scope) -> Any:
    calls: list[Any] = []
    routes = [StarletteRoute(path, Face(path, calls)) for path in PATHS]
    router = Router(routes, redirect_slashes=False, default=Face(None, calls))
    await router(scope, _nothing, _ignore)
    (call,) = calls
    return call


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "DELETE", "BREW"])
@pytest.mark.parametrize(("path", "expected"), ASKED)
async def test_as_the_router(path: str, expected: str | None, method: str) -> None:
    scope = {"type": "http", "method": method, "path": path, "headers": []}
    found = found_by_table(dict(scope))
    assert found[0] == expected
    assert found == await found_by_router(scope)


@pytest.mark.parametrize(
    "routes",
    [
        [at("/{anything}/a", answer)],
        [at("/api/{anything}", answer)],
        [at("/a", answer), at("/a", answer)],
    ],
)
def test_routes_that_a_table_would_miss_are_refused(routes: list[Route]) -> None:
    with pytest.raises(ValueError, match="prefix"):
        Dispatch(routes, nothing())


@pytest.mark.parametrize(
    ("method", "policy", "why"),
    [
        ("GET", Policy(who=Who.KEY), "scope"),
        ("GET", Policy(who=Who.ANYONE, scope="posts:read"), "scope"),
        ("GET", Policy(who=Who.KEY, scope="posts:read"), "counted"),
        ("GET", Policy(who=Who.VISITOR, limit=Limit.CALLS), "counted"),
        ("GET", Policy(who=Who.STAFF, cache=Cache.VERSIONED), "staff"),
        ("POST", Policy(who=Who.STAFF), "origin"),
        ("POST", Policy(who=Who.VISITOR), "origin"),
        ("DELETE", Policy(who=Who.OWNER), "origin"),
        ("POST", Policy(who=Who.ANYONE, cache=Cache.ANYONE), "cached"),
        ("POST", Policy(who=Who.STAFF, origin=Origin.FORM), "form"),
    ],
)
def test_a_policy_that_contradicts_itself_stops_the_start(
    method: str, policy: Policy, why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        Route("/a", {method: Action(answer, policy)})


def test_a_route_that_does_nothing_stops_the_start() -> None:
    with pytest.raises(ValueError, match="nothing"):
        Route("/a", {})
