"""Tiers and redirects in the public API."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.v1.keys import key_client
from tests.world import TenantWorld

TIERS, REDIRECTS = "/api/v1/tiers", "/api/v1/redirects"
SUPPORTER = {"name": "Supporter", "price": 500, "currency": "eur", "benefits": ["Letters"]}


@pytest.fixture
async def api(tenant: TenantWorld) -> httpx.AsyncClient:
    return await key_client(tenant, "tiers:read", "tiers:write", "settings:write")


class TestTiers:
    async def test_from_creation_to_deletion(self, api: httpx.AsyncClient) -> None:
        answer = await api.post(TIERS, json=SUPPORTER)
        assert answer.status_code == 201, answer.text
        tier = answer.json()["data"]
        assert tier.keys() == {
            *("id", "name", "price", "currency", "interval", "benefits", "position", "active"),
            *("payment_url", "payment_price_id", "created", "updated"),
        }
        assert (tier["interval"], tier["active"], tier["payment_url"]) == ("month", True, None)
        path = f"{TIERS}/{tier['id']}"
        assert (await api.get(path)).json() == tier
        listed = (await api.get(TIERS)).json()
        assert (listed["items"], listed["total"]) == ([tier], 1)
        changed = await api.patch(path, json={"active": False, "interval": "year"})
        assert changed.json()["data"]["active"] is False
        assert (await api.delete(path)).status_code == 204
        assert (await api.get(path)).status_code == 404

    async def test_readers_see_what_was_made(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        await api.post(TIERS, json=SUPPORTER)
        assert "Supporter" in (await tenant.guest.get("/member/tiers")).text

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"name": ""}, "name"),
            ({"price": 0}, "price"),
            ({"price": 1.5}, "price"),
            ({"currency": "euro"}, "currency"),
            ({"interval": "week"}, "interval"),
            ({"payment_url": "http://pay.example"}, "payment_url"),
            ({"benefits": ["x"] * 3 + ["y" * 201]}, "benefits"),
        ],
    )
    async def test_what_is_refused_is_named(
        self, api: httpx.AsyncClient, body: dict[str, Any], field: str
    ) -> None:
        answer = await api.post(TIERS, json=SUPPORTER | body)
        assert answer.status_code == 422
        assert answer.json()["error"]["details"].keys() == {field}


class TestRedirects:
    async def test_an_old_path_leads_to_the_new_one(
        self, tenant: TenantWorld, api: httpx.AsyncClient
    ) -> None:
        body = {"from": "/old-path", "to": "/archive"}
        answer = await api.post(REDIRECTS, json=body)
        assert answer.status_code == 201, answer.text
        redirect = answer.json()["data"]
        assert redirect.keys() == {"id", "from", "to", "status", "created"}
        assert body.items() <= redirect.items()
        assert redirect["status"] == 301
        assert (await api.get(REDIRECTS)).json()["items"] == [redirect]
        visited = await tenant.guest.get("/old-path")
        assert (visited.status_code, visited.headers["location"]) == (301, "/archive")
        assert (await api.delete(f"{REDIRECTS}/{redirect['id']}")).status_code == 204
        assert (await tenant.guest.get("/old-path")).status_code == 404
        assert (await api.get(f"{REDIRECTS}/{redirect['id']}")).status_code == 405

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"from": "/taken"}, "from"),
            ({"from": "no-path"}, "from"),
            ({"from": ""}, "from"),
            ({"to": "javascript:alert(1)"}, "to"),
            ({"to": None}, "to"),
            ({"status": 200}, "status"),
            ({"status": "301"}, "status"),
        ],
    )
    async def test_what_is_refused_is_named_as_it_was_sent(
        self, tenant: TenantWorld, api: httpx.AsyncClient, body: dict[str, Any], field: str
    ) -> None:
        await tenant.create("redirects", {"source": "/taken", "destination": "/"})
        answer = await api.post(REDIRECTS, json={"from": "/free", "to": "/"} | body)
        assert answer.status_code == 422, answer.text
        assert answer.json()["error"]["details"].keys() == {field}
