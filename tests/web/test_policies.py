"""Every route keeps its policy. The cases are made from the rows: a new route is among them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.faces.admin.visitor import OWN, Visitor, staff, visitor
from tests.world import TenantWorld, World

from masthead.web.dispatch import ANY_METHOD, Action, LazyRoute, Route
from masthead.web.policy import BodyKind, Limit, Origin, Policy, Who

FORM = "application/x-www-form-urlencoded"
UNKNOWN = "abcdefghij12345"
RANK = {Who.STAFF: 1, Who.EDITOR: 2, Who.OWNER: 3, Who.OPERATOR: 4}
"""From which on a role may open a page of the admin."""


async def every_route(app: World) -> list[Route]:
    """Returns the routes of all faces."""
    door: Any = app.http
    routes: dict[str, Route] = {}
    for each in door.routes.routes:
        own = (await each.face.load()).routes.routes if isinstance(each, LazyRoute) else (each,)
        routes |= {route.path: route for route in own}
    return list(routes.values())


def path_of(route: Route, record_id: str = UNKNOWN) -> str:
    return re.sub(r"\{\w+(:\w+)?\}", record_id, route.path)


def actions_of(routes: list[Route]) -> Iterator[tuple[Route, str, Policy]]:
    for route in routes:
        for method, action in route.actions.items():
            yield route, method, action.policy


ROLES = [
    "guest",
    "member",
    "owner of another site",
    "contributor",
    "author",
    "editor",
    "owner",
    "operator",
]


@pytest.fixture
async def roles(app: World, tenant: TenantWorld, other_tenant: TenantWorld) -> dict[str, Any]:
    stranger = await other_tenant.owner()
    member = await tenant.member()
    return {
        "guest": (0, Visitor(tenant.guest)),
        "member": (0, visitor(app, member, tenant.host)),
        "owner of another site": (0, visitor(app, stranger, tenant.host)),
        "contributor": (1, (await staff(tenant, "contributor"))[0]),
        "author": (1, (await staff(tenant, "author"))[0]),
        "editor": (2, (await staff(tenant, "editor"))[0]),
        "owner": (3, (await staff(tenant, "owner"))[0]),
        "operator": (4, visitor(app, await app.operator(), tenant.host)),
    }


def is_signed_out(answer: Any) -> bool:
    to_sign_in = answer.headers.get("location", "").startswith("/admin/sign-in")
    return answer.status_code == 401 or (answer.status_code == 303 and to_sign_in)


@pytest.mark.parametrize(
    "role",
    [
        "contributor",
        *(pytest.param(each, marks=pytest.mark.sweep) for each in ROLES if each != "contributor"),
    ],
)
async def test_pages_of_the_admin_are_for_their_roles(
    app: World, roles: dict[str, Any], role: str
) -> None:
    reads = [
        (route, policy)
        for route, method, policy in actions_of(await every_route(app))
        if policy.is_for_staff and method == "GET" and policy.origin is Origin.ANY
    ]
    assert len(reads) > 80
    rank, browser = roles[role]
    for route, policy in reads:
        answer = await browser.get(path_of(route))
        assert is_signed_out(answer) is (rank == 0), (route.path, answer.status_code)
        if 0 < rank < RANK[policy.who]:
            assert answer.status_code == 403, route.path
            assert "Ask an " in answer.text, route.path
        assert answer.status_code < 500, route.path


@pytest.mark.parametrize(
    "role",
    ["owner", *(pytest.param(each, marks=pytest.mark.sweep) for each in ROLES if each != "owner")],
)
async def test_nothing_is_changed_for_another_role_or_without_the_token_of_the_sign_in(
    app: World, roles: dict[str, Any], role: str
) -> None:
    changes = [
        (route, policy)
        for route, method, policy in actions_of(await every_route(app))
        if policy.is_for_staff and method == "POST"
    ]
    assert len(changes) > 80
    rank, browser = roles[role]
    for route, policy in changes:
        answer = await browser.api.post(path_of(route), data={"x": "y"}, headers=OWN)
        case = (route.path, answer.status_code)
        if policy.origin is Origin.SCRIPT:
            assert answer.status_code in (400, 401), case
        elif rank == 0:
            assert is_signed_out(answer), case
        elif rank < RANK[policy.who]:
            assert answer.status_code == 403, case
        elif policy.body and policy.body.kind is BodyKind.FILES:
            assert answer.status_code == 400, case
        else:
            assert answer.status_code == 403, case


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "same-site"},
        pytest.param({"origin": "https://evil.example"}, marks=pytest.mark.sweep),
        pytest.param({}, marks=pytest.mark.sweep),
    ],
    ids=["same site", "other origin", "unknown origin"],
)
async def test_no_form_is_taken_from_a_page_of_another_origin(
    app: World, tenant: TenantWorld, roles: dict[str, Any], headers: dict[str, str]
) -> None:
    forms = [
        (route, method)
        for route, method, policy in actions_of(await every_route(app))
        if policy.origin in (Origin.OWN, Origin.FORM, Origin.SCRIPT)
    ]
    assert len(forms) > 100
    _, owner = roles["owner"]
    _, member = roles["member"]
    for route, method in forms:
        browser = owner if route.path.startswith("/admin") else member
        answer = await browser.api.request(
            method, path_of(route), content=b"x=y", headers={**headers, "content-type": FORM}
        )
        # 401: the cookie does not count there.
        assert answer.status_code in (400, 401, 403, 404), route.path


async def test_a_record_of_another_site_is_not_there(
    app: World, tenant: TenantWorld, other_tenant: TenantWorld, roles: dict[str, Any]
) -> None:
    post = await other_tenant.published()
    member = await other_tenant.member()
    theirs = [
        post["id"],
        member.id,
        (await other_tenant.create("pages", {"title": "Theirs"}))["id"],
        (await other_tenant.owner()).id,
    ]
    _, owner = roles["owner"]
    tried = 0
    for route, method, policy in actions_of(await every_route(app)):
        if method != "GET" or "{id}" not in route.path or policy.who not in (Who.STAFF, Who.OWNER):
            continue
        for record_id in theirs:
            answer = await owner.get(path_of(route, record_id))
            assert answer.status_code == 404, (route.path, record_id)
            tried += 1
    assert tried > 60


async def test_what_nobody_is_asked_for_has_a_limit_or_changes_nothing(app: World) -> None:
    """A stranger may not cause as many writes as they like: such a route counts them, or asks for a
    proof first."""
    unlimited = {
        f"{method} {route.path}"
        for route, method, policy in actions_of(await every_route(app))
        if method not in ("GET", "HEAD", "OPTIONS", ANY_METHOD)
        and policy.who in (Who.ANYONE, Who.VISITOR)
        and policy.limit is Limit.NONE
    }
    # These are for one who is signed in, which the handler asks for.
    assert {each for each in unlimited if not each.startswith("POST /member/")} == {
        "POST /posts/{slug}/comments/{id}",
        "POST /posts/{slug}/comments/{id}/delete",
    }


async def test_a_row_says_for_whom_it_is(app: World) -> None:
    routes = await every_route(app)
    assert len(routes) > 220
    assert all(isinstance(each, Action) for route in routes for each in route.actions.values())
