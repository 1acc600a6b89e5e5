"""Any input gets the documented envelope; nothing is a 500."""

from __future__ import annotations

import httpx
import pytest
from tests.v1.keys import key_client
from tests.world import TenantWorld, World, open_world

POSTS = "/api/v1/posts"
JSON = {"content-type": "application/json"}


@pytest.fixture
async def api(app: World) -> httpx.AsyncClient:
    return await key_client(await app.new_tenant("hostile", plan="enterprise"))


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b"5",
        b"{'title': 'x'}",
        b'{"title": "x",}',
        b'{"title": "a\\u0000b"}',
        b'{"title": "\\ud800"}',
        b'{"title": "\xff\xfe"}',
        b'{"title": NaN}',
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        b"[" * 100_000,
        b'{"title": 1e999}',
        b'{"title": ' + b"9" * 5_000 + b"}",
        b"\x00",
        "\N{BYTE ORDER MARK}{}".encode("utf-16"),
    ],
)
async def test_a_body_that_is_no_json_object(api: httpx.AsyncClient, raw: bytes) -> None:
    answer = await api.post(POSTS, content=raw, headers=JSON)
    assert answer.status_code in (400, 422), answer.text
    assert answer.json()["error"]["code"] in ("BAD_REQUEST", "VALIDATION_ERROR")


async def test_the_last_of_a_repeated_name_counts(api: httpx.AsyncClient) -> None:
    answer = await api.post(POSTS, content=b'{"title":"a","title":"b"}', headers=JSON)
    assert answer.json()["data"]["title"] == "b"


@pytest.mark.parametrize(
    "content_type", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
)
async def test_a_body_that_is_not_called_json(api: httpx.AsyncClient, content_type: str) -> None:
    answer = await api.post(POSTS, content=b'{"title":"x"}', headers={"content-type": content_type})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "BAD_REQUEST")


async def test_ten_megabytes(api: httpx.AsyncClient) -> None:
    answer = await api.post(POSTS, content=b"x" * 10_000_000, headers=JSON)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "BAD_REQUEST")


@pytest.mark.parametrize("record_id", ["'", "%00", "..", "%F0%9F%98%80", "x" * 5_000, "%2e%2e"])
async def test_an_id_that_is_none(api: httpx.AsyncClient, record_id: str) -> None:
    for method in ("GET", "PATCH", "DELETE"):
        answer = await api.request(
            method, f"{POSTS}/{record_id}", json={"title": "x"} if method == "PATCH" else None
        )
        assert answer.status_code in (404, 405), answer.text
        assert answer.json()["error"]["code"] in ("NOT_FOUND", "METHOD_NOT_ALLOWED")


class TestHttpsOnly:
    async def test_plain_calls_are_refused_before_anything_else(
        self, database_url: str, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        world = await open_world(
            database_url,
            tmp_path_factory.mktemp("https"),
            MASTHEAD_REQUIRE_HTTPS="1",
            MASTHEAD_TRUSTED_PROXIES="10.0.0.0/8",
        )
        try:
            tenant = await world.new_tenant("secure")
            await self.check(world, tenant)
        finally:
            await world.parts.close()

    async def check(self, world: World, tenant: TenantWorld) -> None:
        refused = await tenant.guest.get(POSTS)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "HTTPS_REQUIRED")
        forwarded = {"x-forwarded-proto": "https"}
        pretended = await tenant.guest.get(POSTS, headers=forwarded)
        assert pretended.json()["error"]["code"] == "HTTPS_REQUIRED"
        behind = world.client(tenant.host, address="10.1.2.3")
        believed = await behind.get(POSTS, headers=forwarded)
        assert believed.json()["error"]["code"] == "UNAUTHORIZED"
