"""Cookies: how they are split, how many are taken, and which names they get."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.faces.admin.visitor import Visitor
from tests.world import PASSWORD, Account, TenantWorld, World

from masthead.base.errors import HeadTooLarge
from masthead.identity.sessions import ADMIN_COOKIE, MEMBER_COOKIE
from masthead.web.cookies import MAX_BYTES, cookies_of, own_cookie, set_own_cookie
from masthead.web.request import Request


async def no_body() -> Any:
    raise AssertionError("nobody reads it")


def scope(*lines: str, is_https: bool = False) -> dict[str, Any]:
    sent = {
        "type": "http",
        "headers": [(b"cookie", line.encode("latin-1")) for line in lines],
    }
    Request(sent, no_body, address="203.0.113.5", is_https=is_https)
    return sent


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((), {}),
        (("",), {}),
        (("a=1; b=2",), {"a": "1", "b": "2"}),
        (("a=1;b=2;c",), {"a": "1", "b": "2", "c": ""}),
        (("a=1", "b=2; c=3"), {"a": "1", "b": "2", "c": "3"}),
        (("a=1; a=2",), {"a": "1"}),
        (('a="x\\072y"',), {"a": '"x\\072y"'}),
        (("a=b=c",), {"a": "b=c"}),
        (("a=%3B",), {"a": "%3B"}),
        (("a=1, b=2",), {"a": "1, b=2"}),
    ],
)
def test_cookies_are_split_and_left_as_they_are(
    lines: tuple[str, ...], expected: dict[str, str]
) -> None:
    assert cookies_of(scope(*lines)) == expected


def test_too_many_bytes_are_refused() -> None:
    assert cookies_of(scope("a=" + "x" * (MAX_BYTES - 2)))["a"].startswith("xx")
    with pytest.raises(HeadTooLarge):
        cookies_of(scope("a=" + "x" * (MAX_BYTES - 1)))
    with pytest.raises(HeadTooLarge):
        cookies_of(scope(*["a=" + "x" * 4_000] * 5))


def test_over_https_only_this_host_can_set_our_own_cookies() -> None:
    cookie = set_own_cookie("mh_x", "1", path="/admin", seconds=60, is_https=True)
    assert cookie == "__Host-mh_x=1; Max-Age=60; Path=/; HttpOnly; SameSite=Lax; Secure"
    sent = scope("mh_x=planted; __Host-mh_x=1", is_https=True)
    assert own_cookie(sent, "mh_x") == "1"
    assert own_cookie(scope("mh_x=planted", is_https=True), "mh_x") == ""


def test_over_http_browsers_would_refuse_the_prefix() -> None:
    cookie = set_own_cookie("mh_x", "1", path="/admin", seconds=60, is_https=False)
    assert cookie == "mh_x=1; Max-Age=60; Path=/admin; HttpOnly; SameSite=Lax"
    assert own_cookie(scope("mh_x=1"), "mh_x") == "1"


@pytest.mark.parametrize(
    "path", ["/", "/admin", "/admin/sign-in", "/api/collections/posts/records"]
)
async def test_64_kb_of_cookies_are_refused_with_advice(tenant: TenantWorld, path: str) -> None:
    """Python's own parser takes a minute for these."""
    planted = 'a="' + '\\"' * 32_000 + '"'
    answer = await tenant.guest.get(path, headers={"cookie": planted})
    assert answer.status_code == 431
    assert "Delete this site&#39;s cookies" in answer.text or "cookies" in answer.json()["message"]


async def test_a_session_in_split_cookies_counts(
    tenant: TenantWorld, owner: Account, member: Account
) -> None:
    """As HTTP/2 sends them: RFC 9113, 8.2.3."""
    split = [("cookie", "mh_theme=dark"), ("cookie", f"{ADMIN_COOKIE}={owner.token}")]
    page = await tenant.guest.get("/admin", headers=split)
    assert page.status_code == 200
    assert 'data-theme="dark"' in page.text
    split = [("cookie", "a=b"), ("cookie", f"{MEMBER_COOKIE}={member.token}")]
    answer = await tenant.guest.get("/member/account", headers=split)
    assert answer.status_code == 200
    assert member.email in answer.text


async def test_the_admins_cookies_have_the_prefix_over_https(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app.http), base_url=f"https://{tenant.host}"
    ) as client:
        client.cookies.set(ADMIN_COOKIE, owner.token)
        browser = Visitor(client)
        answer = await browser.post("/admin/theme", {"theme": "dark", "next": "/admin"})
        assert answer.headers["set-cookie"].startswith("__Host-mh_theme=dark; ")
        assert 'data-theme="dark"' in (await client.get("/admin")).text


@pytest.mark.parametrize("is_staff", [True, False])
async def test_over_https_a_planted_session_does_not_win(
    app: World, tenant: TenantWorld, owner: Account, member: Account, is_staff: bool
) -> None:
    """A page of a sibling site can set a cookie of the parent domain, which may come first."""
    own, name = (owner, ADMIN_COOKIE) if is_staff else (member, MEMBER_COOKIE)
    planted = await (tenant.owner() if is_staff else tenant.member())
    path = "/admin/account" if is_staff else "/member/account"
    pair = f"{name}={planted.token}; {name}={own.token}; __Host-{name}={own.token}"
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app.http), base_url=f"https://{tenant.host}"
    ) as client:
        page = await client.get(path, headers={"cookie": pair})
        assert own.email in page.text
        assert planted.email not in page.text
        # One whose session has ended leaves the other.
        ended = f"{name}={own.token}; __Host-{name}=a.b.c"
        assert own.email in (await client.get(path, headers={"cookie": ended})).text
    # Without TLS any page can plant one with the prefix.
    prefixed = {"cookie": f"__Host-{name}={own.token}"}
    assert own.email not in (await tenant.guest.get(path, headers=prefixed)).text


async def test_over_https_signing_in_and_out_sets_both_cookies(
    app: World, tenant: TenantWorld, owner: Account, member: Account
) -> None:
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app.http), base_url=f"https://{tenant.host}"
    ) as client:
        origin = {"origin": f"https://{tenant.host}"}
        for account, collection, name in (
            (owner, "_superusers", ADMIN_COOKIE),
            (member, "blog_members", MEMBER_COOKIE),
        ):
            answer = await client.post(
                f"/api/collections/{collection}/auth-with-password",
                json={"identity": account.email, "password": PASSWORD},
                headers=origin,
            )
            names = [each.partition("=")[0] for each in answer.headers.get_list("set-cookie")]
            assert names == [name, f"__Host-{name}"]
        out = await Visitor(client).post("/admin/sign-out", {})
        ended = out.headers.get_list("set-cookie")
        assert [each.startswith((ADMIN_COOKIE, f"__Host-{ADMIN_COOKIE}")) for each in ended[:2]]
        assert all("Max-Age=0" in each for each in ended if ADMIN_COOKIE in each)
        assert (await client.get("/admin/account")).status_code == 303
