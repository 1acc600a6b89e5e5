"""A site has one address, and what else leads to it answers 301."""

from __future__ import annotations

import ipaddress
from dataclasses import replace
from typing import Any

import httpx
import msgspec
import pytest
from tests.world import TenantWorld, World

from masthead.base.config.values import Url
from masthead.service.app import http_app

PLAIN = {"x-forwarded-proto": "http"}
"""The header that a proxy adds to a request that reached it without TLS."""


def client(app: World, host: str, scheme: str = "http", **settings: Any) -> httpx.AsyncClient:
    changed = msgspec.structs.replace(app.parts, settings=replace(app.parts.settings, **settings))
    transport = httpx.ASGITransport(http_app(changed))
    return httpx.AsyncClient(transport=transport, base_url=f"{scheme}://{host}")


@pytest.fixture
def https(app: World) -> dict[str, Any]:
    return {"base_url": Url(f"https://{app.parts.settings.base_domain}")}


class TestHttps:
    @pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
    @pytest.mark.parametrize("path", ["/", "/posts/fog?page=2", "/admin/sign-in", "/a%20b%2Fc"])
    async def test_a_plain_request_leads_to_it(
        self, app: World, tenant: TenantWorld, https: dict[str, Any], method: str, path: str
    ) -> None:
        answer = await client(app, tenant.host, **https).request(method, path, headers=PLAIN)
        assert answer.status_code == 301
        name = tenant.host.partition(":")[0]
        assert answer.headers["location"] == f"https://{name}{path}"
        assert answer.headers["cache-control"] == "no-cache"
        assert "strict-transport-security" not in answer.headers

    @pytest.mark.parametrize(
        "path", ["/api/health", "/api/v1/posts", "/api/openapi.json", "/metrics"]
    )
    async def test_programs_are_not_led(
        self, app: World, tenant: TenantWorld, https: dict[str, Any], path: str
    ) -> None:
        answer = await client(app, tenant.host, **https).get(path, headers=PLAIN)
        assert answer.status_code != 301

    async def test_the_host_of_the_service_leads_to_the_base_url(
        self, app: World, https: dict[str, Any]
    ) -> None:
        answer = await client(app, "127.0.0.1", **https).get("/admin", headers=PLAIN)
        assert answer.status_code == 301
        assert answer.headers["location"] == f"{https['base_url']}/admin"

    async def test_a_request_without_a_proxy_leads_to_it(
        self, app: World, tenant: TenantWorld, https: dict[str, Any]
    ) -> None:
        answer = await client(app, tenant.host, **https).get("/posts/fog")
        name = tenant.host.partition(":")[0]
        assert answer.status_code == 301
        assert answer.headers["location"] == f"https://{name}/posts/fog"

    async def test_behind_a_trusted_proxy_that_says_nothing_nobody_is_led(
        self, app: World, tenant: TenantWorld, https: dict[str, Any]
    ) -> None:
        """HTTPS looks plain there: its requests would be sent in circles."""
        proxies = {"trusted_proxies": (ipaddress.ip_network("127.0.0.1/32"),)}
        behind = client(app, tenant.host, **https, **proxies)
        assert (await behind.get("/")).status_code == 200
        assert (await behind.get("/", headers=PLAIN)).status_code == 301

    async def test_what_a_proxy_says_of_https_is_enough(
        self, app: World, tenant: TenantWorld, https: dict[str, Any]
    ) -> None:
        """Also of a proxy that is not trusted."""
        browser = client(app, tenant.host, **https)
        answer = await browser.get("/", headers={"x-forwarded-proto": "https"})
        assert answer.status_code == 200
        assert answer.headers["strict-transport-security"] == "max-age=31536000"

    async def test_a_browser_is_told_to_stay_with_it(
        self, app: World, tenant: TenantWorld, https: dict[str, Any]
    ) -> None:
        for path in ("/", "/api/health", "/nothing"):
            answer = await client(app, tenant.host, "https", **https).get(path)
            assert answer.headers["strict-transport-security"] == "max-age=31536000"

    async def test_without_it_nothing_is_promised(self, app: World, tenant: TenantWorld) -> None:
        answer = await client(app, tenant.host, "https").get("/")
        assert answer.status_code == 200
        assert "strict-transport-security" not in answer.headers

    async def test_the_switch_turns_it_off(
        self, app: World, tenant: TenantWorld, https: dict[str, Any]
    ) -> None:
        for scheme in ("http", "https"):
            browser = client(app, tenant.host, scheme, canonical=False, **https)
            answer = await browser.get("/", headers=PLAIN)
            assert answer.status_code == 200
            assert "strict-transport-security" not in answer.headers


class TestTheDomainOfTheSite:
    @pytest.fixture(autouse=True)
    async def domain(self, tenant: TenantWorld) -> str:
        domain = f"{tenant.slug}.example.com"
        await tenant.settings(custom_domain=domain)
        return domain

    @pytest.fixture
    def hosts(self, tenant: TenantWorld, domain: str) -> list[str]:
        return [tenant.host, f"www.{domain}", f"WWW.{domain}.:8000"]

    async def test_other_hosts_lead_to_it(self, app: World, hosts: list[str], domain: str) -> None:
        base = httpx.URL(str(app.parts.settings.base_url))
        port = f":{base.port}" if base.port else ""
        for host in hosts:
            answer = await client(app, host).get("/posts/fog?a=b&c=%C3%A4")
            assert answer.status_code == 301
            expected = f"{base.scheme}://{domain}{port}/posts/fog?a=b&c=%C3%A4"
            assert answer.headers["location"] == expected

    async def test_a_domain_with_www_is_found_without(
        self, app: World, tenant: TenantWorld, domain: str
    ) -> None:
        await tenant.settings(custom_domain=f"www.{domain}")
        answer = await client(app, domain).get("/")
        assert answer.status_code == 301
        assert httpx.URL(answer.headers["location"]).host == f"www.{domain}"

    async def test_plain_requests_get_there_at_once(
        self, app: World, hosts: list[str], domain: str, https: dict[str, Any]
    ) -> None:
        for host in [*hosts, domain]:
            answer = await client(app, host, **https).get("/", headers=PLAIN)
            assert (answer.status_code, answer.headers["location"]) == (301, f"https://{domain}/")

    async def test_it_answers_itself(self, app: World, domain: str) -> None:
        assert (await client(app, domain).get("/")).status_code == 200

    @pytest.mark.parametrize(
        "path", ["/admin/sign-in", "/api/v1/posts", "/.well-known/security.txt", "/media/a/b.png"]
    )
    async def test_the_admin_programs_and_files_stay(
        self, app: World, tenant: TenantWorld, path: str
    ) -> None:
        assert (await client(app, tenant.host).get(path)).status_code != 301

    async def test_a_form_is_not_led(self, app: World, tenant: TenantWorld) -> None:
        answer = await client(app, tenant.host).post("/member/sign-in", data={"email": "a@b.c"})
        assert answer.status_code != 301

    async def test_the_domain_that_is_only_wanted_leads_nowhere(
        self, app: World, tenant: TenantWorld, domain: str
    ) -> None:
        await tenant.settings(custom_domain="", wanted_domain=domain)
        assert (await client(app, tenant.host).get("/")).status_code == 200
        assert (await client(app, f"www.{domain}").get("/")).status_code == 404

    async def test_the_switch_turns_it_off(
        self, app: World, tenant: TenantWorld, domain: str
    ) -> None:
        assert (await client(app, tenant.host, canonical=False).get("/")).status_code == 200
        assert (await client(app, f"www.{domain}", canonical=False).get("/")).status_code == 404
