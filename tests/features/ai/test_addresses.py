"""A site's AI URL is checked when it is saved, through every API."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.features.ai.conftest import AiWorld

from masthead.base.config.settings import Settings
from masthead.features.ai.addresses import NOT_ALLOWED, NotAllowed, policy_of
from masthead.outside.outbound.policies import OutboundPolicy

REFUSED = [
    "http://api.openai.com/v1",
    "https://api.openai.com:8443/v1",
    "https://api.openai.com@example.com/v1",
    "https://api.openai.com.evil.example/v1",
    "https://example.com/v1",
    "http://127.0.0.1:1/v1",
    "http://169.254.169.254/latest",
    "/v1",
]


async def save(ai: AiWorld, address: str) -> tuple[int, dict[str, dict[str, str]], str]:
    """An owner's PATCH: its status, its problems, and what is stored afterwards."""
    tenant = await ai.tenant()
    owner = await tenant.owner()
    path = "/api/collections/site_settings/records"
    (site,) = (await owner.api.get(path)).json()["items"]
    answer = await owner.api.patch(f"{path}/{site['id']}", json={"ai_base_url": address})
    stored = (await owner.api.get(f"{path}/{site['id']}")).json()["ai_base_url"]
    return answer.status_code, answer.json().get("data", {}), stored


@pytest.mark.parametrize("address", REFUSED)
async def test_a_url_that_is_not_allowed_is_not_saved(ai: AiWorld, address: str) -> None:
    status, problems, stored = await save(ai, address)
    assert status == 400
    assert problems["ai_base_url"] == {"code": "validation_invalid_url", "message": NOT_ALLOWED}
    assert stored == ""


async def test_the_platforms_own_address_is_saved(ai: AiWorld) -> None:
    for address in (ai.base_url, f"{ai.base_url}/"):
        assert await save(ai, address) == (200, {}, address)


@pytest.mark.parametrize("address", ["https://api.mistral.ai/v1", ""])
async def test_a_well_known_provider_or_none_is_saved(ai: AiWorld, address: str) -> None:
    assert await save(ai, address) == (200, {}, address)


class TestListedNetworks:
    settings = Settings.from_environ(
        {"MASTHEAD_OUTBOUND_ALLOW": "10.0.0.0/8"}, data_dir=Path("data")
    )

    @pytest.mark.parametrize("address", ["http://10.1.2.3:8080/v1", "http://llm.internal:8080/v1"])
    def test_a_listed_address_and_any_name_may_be_saved(self, address: str) -> None:
        # A name's address is checked at every call.
        assert policy_of(address, self.settings) is OutboundPolicy.LISTED

    @pytest.mark.parametrize("address", ["http://192.168.1.1:8080/v1", "http://8.8.8.8/v1"])
    def test_an_unlisted_address_may_not_be_saved(self, address: str) -> None:
        with pytest.raises(NotAllowed):
            policy_of(address, self.settings)
