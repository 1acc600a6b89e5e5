"""A slash at the end of an address."""

from __future__ import annotations

import pytest
from tests.v1.keys import key_client
from tests.world import TenantWorld


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/posts/",
        "/api/v1/webhooks/events/",
        "/api/v1/openapi.json/",
        "/api/health/",
        "/api/gdpr/export/",
        "/api/ai/generate/",
        "/api/collections/posts/records/",
        "/api/collections/_superusers/auth-with-password/",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_slash_at_the_end_is_another_address_and_the_answer_says_so(
    tenant: TenantWorld, method: str, path: str
) -> None:
    api = await key_client(tenant)
    for client in (api, tenant.guest, (await tenant.owner()).api):
        answer = await client.request(method, path)
        assert answer.status_code == 404
        assert "Leave out the slash at its end." in answer.text
