"""Browsers on other pages may call the API only where the tenant lists them."""

from __future__ import annotations

import httpx
import pytest
from tests.world import TenantWorld, records_of

from masthead.engine.records.collection import Record
from masthead.web.cors import EXPOSED_HEADERS, allowed_origin

APP = "https://app.example.com"
PREFLIGHT = {"access-control-request-method": "PATCH", "access-control-request-headers": "if-match"}


def browser(tenant: TenantWorld, origin: str = APP) -> httpx.AsyncClient:
    """Calls the service as a page of `origin` does."""
    client = tenant.guest
    client.headers["origin"] = origin
    return client


def allows(answer: httpx.Response) -> str | None:
    value: str | None = answer.headers.get("access-control-allow-origin")
    return value


@pytest.mark.parametrize(
    ("origin", "listed", "allowed"),
    [
        (None, ("*",), None),
        (APP, (), None),
        (APP, (APP,), APP),
        (APP, ("https://other.example.com", "https://App.example.com/"), APP),
        ("http://app.example.com", (APP,), None),
        ("https://app.example.com:8443", (APP,), None),
        ("https://app.example.com.evil.example", (APP,), None),
        ("null", (APP,), None),
        (APP, ("*",), "*"),
        ("null", ("*",), "*"),
    ],
)
def test_only_the_very_origin_is_allowed(
    origin: str | None, listed: tuple[str, ...], allowed: str | None
) -> None:
    assert allowed_origin(origin, listed) == allowed


class TestThroughTheService:
    async def test_it_is_off_by_default(self, tenant: TenantWorld) -> None:
        asked = await browser(tenant).options("/api/v1/posts", headers=PREFLIGHT)
        assert asked.status_code == 401
        assert not any(name.startswith("access-control") for name in asked.headers)
        answer = await browser(tenant).get("/api/v1/posts")
        assert allows(answer) is None
        assert "Origin" not in answer.headers.get("vary", "")

    async def test_a_preflight_of_a_listed_origin_needs_no_key(self, tenant: TenantWorld) -> None:
        await tenant.settings(cors_origins=[APP])
        asked = await browser(tenant).options("/api/v1/posts/abc", headers=PREFLIGHT)
        assert asked.status_code == 204
        assert allows(asked) == APP
        assert "PATCH" in asked.headers["access-control-allow-methods"]
        allowed = asked.headers["access-control-allow-headers"].lower()
        assert {"authorization", "if-match", "idempotency-key"} <= set(allowed.split(", "))
        assert asked.headers["vary"] == "Origin"
        assert "access-control-allow-credentials" not in asked.headers

    async def test_a_refusal_is_readable_for_a_listed_origin(self, tenant: TenantWorld) -> None:
        await tenant.settings(cors_origins=[APP])
        answer = await browser(tenant).get("/api/v1/posts")
        assert answer.status_code == 401
        assert allows(answer) == APP
        exposed = answer.headers["access-control-expose-headers"].split(", ")
        assert exposed == list(EXPOSED_HEADERS)

    async def test_the_description_is_readable_for_a_listed_origin(
        self, tenant: TenantWorld
    ) -> None:
        await tenant.settings(cors_origins=[APP])
        answer = await browser(tenant).get("/api/v1/openapi.json")
        assert answer.status_code == 200
        assert allows(answer) == APP

    async def test_an_unlisted_origin_gets_no_cors_headers(self, tenant: TenantWorld) -> None:
        await tenant.settings(cors_origins=[APP])
        page = browser(tenant, "https://evil.example")
        for answer in (
            await page.options("/api/v1/posts", headers=PREFLIGHT),
            await page.get("/api/v1/posts"),
        ):
            assert answer.status_code == 401
            assert allows(answer) is None
            # So that no cache hands this answer to a listed one.
            assert answer.headers["vary"] == "Origin"

    async def test_anyone_may_where_the_tenant_says_so(self, tenant: TenantWorld) -> None:
        await tenant.settings(cors_origins=["*"])
        answer = await browser(tenant, "https://anyone.example").get("/api/v1/posts")
        assert allows(answer) == "*"
        assert "access-control-allow-credentials" not in answer.headers

    async def test_one_tenants_list_is_not_anothers(
        self, tenant: TenantWorld, other_tenant: TenantWorld
    ) -> None:
        await tenant.settings(cors_origins=[APP])
        assert allows(await browser(other_tenant).get("/api/v1/posts")) is None

    async def test_a_listed_origin_may_use_the_record_store(
        self, tenant: TenantWorld, published_post: Record
    ) -> None:
        await tenant.settings(cors_origins=[APP])
        page = browser(tenant)
        asked = await page.options(records_of("posts", published_post["id"]), headers=PREFLIGHT)
        assert (asked.status_code, allows(asked)) == (204, APP)
        assert "PATCH" in asked.headers["access-control-allow-methods"]
        listed = await page.get(records_of("posts"))
        assert (listed.status_code, allows(listed)) == (200, APP)
        assert listed.headers["vary"].startswith("Origin")
        assert "access-control-allow-credentials" not in listed.headers
        for refused, status in (
            (await page.post(records_of("posts"), json={"title": "x"}), 401),
            (await page.get(records_of("nope")), 404),
            (await page.get("/api/files/media/abcdefghij01234/a.png"), 404),
            (await page.post("/api/admins/auth-with-password", json={}), 400),
        ):
            assert (refused.status_code, allows(refused)) == (status, APP)

    async def test_the_record_store_tells_an_unlisted_origin_nothing(
        self, tenant: TenantWorld
    ) -> None:
        unlisted = await browser(tenant).options(records_of("posts"), headers=PREFLIGHT)
        assert (unlisted.status_code, unlisted.headers["allow"]) == (204, "GET, POST, OPTIONS")
        assert not any(name.startswith("access-control") for name in unlisted.headers)
        await tenant.settings(cors_origins=[APP])
        page = browser(tenant, "https://evil.example")
        for answer in (
            await page.options(records_of("posts"), headers=PREFLIGHT),
            await page.get(records_of("posts")),
        ):
            assert allows(answer) is None
            assert "Origin" in answer.headers["vary"]

    async def test_other_paths_get_no_cors_headers(self, tenant: TenantWorld) -> None:
        await tenant.settings(cors_origins=["*"])
        assert allows(await browser(tenant).get("/api/health")) is None
