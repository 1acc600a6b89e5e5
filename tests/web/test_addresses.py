"""Under `/api/`, unknown paths outside the record store get the public API's error envelope."""

from __future__ import annotations

import pytest
from tests.world import Account, TenantWorld, World


@pytest.mark.parametrize(
    "path",
    [
        "/api/nope",
        "/api/health/more",
        "/api/ai",
        "/api/ai/nope",
        "/api/gdpr",
        "/api/gdpr/nope",
        "/api/payment/nope",
        "/api/member-webhook/a/b",
        "/api/v1",
        "/api/v1x",
        "/api/",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "PROPFIND"])
async def test_an_unknown_address_is_not_found(owner: Account, method: str, path: str) -> None:
    answer = await owner.api.request(method, path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")
    assert set(answer.json()["error"]) == {"code", "message", "details"}


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/api/health", "GET, HEAD"),
        ("/api/ai/generate", "POST"),
        ("/api/gdpr/export", "POST"),
        ("/api/gdpr/delete", "POST"),
        ("/api/gdpr/export/abc", "GET, HEAD"),
        ("/api/payment/webhook", "POST"),
        ("/api/member-webhook/demo", "POST"),
        ("/api/v1/openapi.json", "GET, HEAD"),
        ("/api/v1/asyncapi.json", "GET, HEAD"),
        ("/api/v1/docs", "GET, HEAD"),
    ],
)
@pytest.mark.parametrize("method", ["PUT", "DELETE", "PROPFIND"])
async def test_a_wrong_method_gets_the_allowed_ones(
    tenant: TenantWorld, method: str, path: str, allowed: str
) -> None:
    answer = await tenant.guest.request(method, path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (405, "METHOD_NOT_ALLOWED")
    assert answer.headers["allow"] == allowed


async def test_a_refusal_at_the_front_door_has_the_envelope_too(app: World) -> None:
    answer = await app.client("nobody.localhost").get("/api/nope")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")
