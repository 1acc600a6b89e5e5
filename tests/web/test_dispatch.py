"""A path finds its route, with the parameters in it."""

from __future__ import annotations

import pytest
from tests.web.routed import at, nothing

from masthead.web.answers import Answer
from masthead.web.asgi import Message
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


async def _nothing() -> Message:
    return {}


def found(path: str, *, method: str = "GET") -> tuple[str | None, dict[str, str]]:
    fallback = at("/{nothing:path}", answer)
    request = Request({"type": "http", "method": method, "path": path, "headers": []}, _nothing)
    route = Dispatch([at(each, answer) for each in PATHS], fallback).find(request)
    return None if route is fallback else route.path, request.path_parameters


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "DELETE", "BREW"])
@pytest.mark.parametrize(("path", "expected"), ASKED)
def test_a_path_finds_its_route(path: str, expected: str | None, method: str) -> None:
    assert found(path, method=method)[0] == expected


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("/api/v1/posts", {}),
        ("/api/v1/posts/x y%2F", {"id": "x y%2F"}),
        ("/api/v1/posts/a/b", {"rest": "posts/a/b"}),
        ("/api/v1/", {"rest": ""}),
        ("/api/v1/a\nb/\n", {"rest": "a\nb/\n"}),
        ("/api/files/a/b/c", {"collection": "a", "id": "b", "name": "c"}),
        ("/media/a\n/b", {"id": "a\n", "name": "b"}),
        ("/media/a/", {}),
    ],
)
def test_a_path_has_the_parameters_of_its_route(path: str, parameters: dict[str, str]) -> None:
    assert found(path)[1] == parameters


def test_what_is_between_the_parameters_of_a_route_is_taken_as_it_is() -> None:
    assert at("/api/{name}.json", answer).match("/api/a.json") == {"name": "a"}
    assert at("/api/{name}.json", answer).match("/api/axjson") is None


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
        ("GET", Policy(who=Who.KEY, limit=Limit.CALLS), "counted"),
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
