"""Every answer keeps browsers from guessing a type, and what is no page from loading anything."""

from __future__ import annotations

import pytest
from tests.world import TenantWorld

_V1 = "/api/v1/posts"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/health", 200),
        ("/api/collections/posts/records", 200),
        ("/api/collections/none/records", 404),
        (_V1, 401),
        ("/api/v1/openapi.json", 200),
        ("/robots.txt", 200),
        ("/feed", 301),
        ("/admin", 303),
        ("/mcp", 401),
    ],
)
async def test_what_is_no_page_loads_nothing(tenant: TenantWorld, path: str, status: int) -> None:
    answer = await tenant.guest.get(path)
    assert answer.status_code == status
    assert answer.headers["x-content-type-options"] == "nosniff"
    (policy,) = answer.headers.get_list("content-security-policy")
    assert policy.startswith("default-src 'none';")
    assert "frame-ancestors 'none'" in policy


async def test_a_page_keeps_its_own_policy_also_when_it_is_unchanged(tenant: TenantWorld) -> None:
    page = await tenant.guest.get("/")
    (policy,) = page.headers.get_list("content-security-policy")
    assert "script-src" in policy
    assert page.headers.get_list("x-content-type-options") == ["nosniff"]
    again = await tenant.guest.get("/", headers={"if-none-match": page.headers["etag"]})
    assert again.status_code == 304
    # Its headers replace those that the browser has stored.
    assert again.headers.get("content-security-policy", policy) == policy
