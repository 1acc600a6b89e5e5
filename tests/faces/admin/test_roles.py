"""Each page and each form of the admin is for the roles of this table and for nobody below them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from tests.faces.admin.every_page import SAMPLES, EveryPage, Sample, every_page
from tests.faces.admin.test_every_page import client, path_of
from tests.faces.admin.test_samples import route_of, routes
from tests.faces.admin.visitor import OWN, Visitor

pytestmark = pytest.mark.slow("fills sites with a sample of every page")

ROLES = ["guest", "contributor", "author", "editor", "owner", "operator"]
"""Each may do what the ones before it may."""

LOWEST = {
    "/admin": "contributor",
    "/admin/sign-in": "guest",
    "/admin/forgot": "guest",
    "/admin/reset-password": "guest",
    "/admin/activity": "owner",
    "/admin/comments": "editor",
    "/admin/components": "operator",
    "/admin/members": "editor",
    "/admin/members/change": "owner",
    "/admin/members/import": "owner",
    "/admin/members/new": "owner",
    "/admin/members/{id}/erase": "owner",
    "/admin/members/{id}/export": "owner",
    "/admin/members/{id}/requests": "owner",
    "/admin/operator": "operator",
    "/admin/pages": "editor",
    "/admin/posts/{id}/send-back": "editor",
    "/admin/settings": "owner",
    "/admin/shop": "owner",
    "/admin/staff": "owner",
    "/admin/tags": "editor",
    "/admin/tenants": "operator",
    "/admin/tools": "owner",
    "/admin/webhooks": "owner",
}
"""The roles by the beginning of an address; the longest one counts."""

REFUSED = {400, 401, 403, 404, 405}
"""400: some read the form before the role. It is empty, so nothing in it can be done."""


@pytest.fixture(scope="module")
async def pages(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EveryPage]:
    async with every_page(tmp_path_factory.mktemp("roles")) as found:
        yield found


def lowest(path: str) -> str:
    beginnings = [each for each in LOWEST if path == each or path.startswith(f"{each}/")]
    return LOWEST[max(beginnings, key=len)]


def addresses(pages: EveryPage) -> Iterator[tuple[str, str]]:
    """Each route with an address of it that exists: its records are those of the samples."""
    known: dict[str, str] = {}
    for sample in SAMPLES:
        path = path_of(pages, sample).partition("?")[0]
        route = route_of(path)
        values = route.match(path)
        assert values is not None
        for beginning, name in parts(route.path):
            known.setdefault(beginning, values[name])
    for route in routes():
        path = route.path
        for beginning, name in parts(route.path):
            path = path.replace(f"{{{name}}}", known.get(beginning, "nosuchrecord000"))
        yield route.path, path


def parts(path: str) -> list[tuple[str, str]]:
    """The beginnings of an address that end with a parameter, and the parameter's name."""
    return [(path[: each.end()], each[1]) for each in re.finditer(r"\{(\w+)\}", path)]


@pytest.mark.parametrize("role", ["guest", "contributor", "editor", "owner"])
async def test_a_page_refuses_the_roles_it_is_not_for(pages: EveryPage, role: str) -> None:
    let_in = []
    async with client(pages, Sample("", "/admin", who=role)) as api:
        browser = Visitor(api)
        form = await filled_in_vain(pages, browser, role)
        for route, path in addresses(pages):
            if ROLES.index(role) >= ROLES.index(lowest(route)) or "{rest:path}" in route:
                continue
            for method, answer in (
                ("GET", await browser.get(path)),
                ("POST", await api.post(path, data=form, headers=OWN)),
            ):
                to_sign_in = answer.headers.get("location", "").startswith("/admin/sign-in")
                if answer.status_code not in REFUSED and not to_sign_in:
                    let_in.append((method, path, answer.status_code))
    assert let_in == [], "\n".join(map(str, let_in))


async def filled_in_vain(pages: EveryPage, browser: Visitor, role: str) -> dict[str, Any]:
    """A form whose token is valid, so that it is refused for the role alone."""
    return {} if role == "guest" else {"form_token": await browser.token()}


async def test_an_owner_of_another_site_is_a_guest(pages: EveryPage) -> None:
    token = pages.accounts["empty"].token
    async with client(pages, Sample("", "/admin", who="guest")) as api:
        api.cookies.set("pb_auth", token)
        for route, path in addresses(pages):
            if lowest(route) == "guest" or "{rest:path}" in route:
                continue
            answer = await api.get(path)
            to_sign_in = answer.headers.get("location", "").startswith("/admin/sign-in")
            assert to_sign_in or answer.status_code in REFUSED, path


def test_each_line_of_the_table_is_of_an_address_that_exists() -> None:
    paths = [each.path for each in routes()]
    assert [
        each
        for each in LOWEST
        if not any(path == each or path.startswith(f"{each}/") for path in paths)
    ] == []
