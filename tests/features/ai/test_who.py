"""Who may use the AI of a site, and so spend its key."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from tests.faces.admin.visitor import staff
from tests.features.ai.conftest import AiWorld, with_parts
from tests.features.ai.provider import plays, recording
from tests.features.ai.stream import GENERATE, PATH
from tests.world import TenantWorld

from masthead.base.config.values import AiFor
from masthead.service.cli.installation_checks import CheckState
from masthead.service.cli.installation_checks import ai as doctor_ai


async def answers(ai: AiWorld, tenant: TenantWorld) -> list[tuple[int, str]]:
    """To a guest, a member, an author and the owner."""
    ai.provider.default = plays(recording("openai"))
    accounts = [await tenant.member(), await tenant.owner(role="author"), await tenant.owner()]
    found = []
    for caller in (tenant.guest, *(each.api for each in accounts)):
        answer = await caller.post(PATH, json=GENERATE)
        is_stream = answer.status_code == 200
        found.append((answer.status_code, "" if is_stream else answer.json()["error"]["code"]))
    return found


EVERYONE = [(200, "")] * 4
STAFF = [(401, "UNAUTHORIZED"), (403, "FORBIDDEN"), (200, ""), (200, "")]


@pytest.mark.parametrize("key", ["sk-own-0123456789abcdef", ""])
@pytest.mark.parametrize(
    ("ai_for", "expected"), [("", EVERYONE), ("anyone", EVERYONE), ("staff", STAFF)]
)
async def test_a_site_says_who_may_use_it(
    ai: AiWorld, ai_for: str, expected: list[Any], key: str
) -> None:
    tenant = await ai.tenant(ai_for=ai_for, ai_api_key=key)
    assert await answers(ai, tenant) == expected
    spent = sum(status == 200 for status, _ in expected)
    assert len(ai.provider.requests) == spent


def for_staff(ai: AiWorld) -> AiWorld:
    parts = ai.world.parts
    settings = replace(parts.settings, ai_for=AiFor.STAFF)
    return AiWorld(
        with_parts(ai.world, msgspec.structs.replace(parts, settings=settings)), ai.provider
    )


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"ai_api_key": ""}, STAFF),
        ({"ai_api_key": "", "ai_for": "anyone"}, EVERYONE),
        ({}, EVERYONE),
    ],
    ids=["platform key", "site says anyone", "own key"],
)
async def test_the_operator_says_it_for_the_platform_key(
    ai: AiWorld, settings: dict[str, Any], expected: list[Any]
) -> None:
    limited = for_staff(ai)
    assert await answers(limited, await limited.tenant(**settings)) == expected


async def test_without_a_site_the_platform_key_is_for_operators_then(ai: AiWorld) -> None:
    limited = for_staff(ai)
    assert (await limited.ask()).status == 401


async def test_the_admin_shows_who_may_spend_how_much(ai: AiWorld) -> None:
    tenant = await ai.tenant(ai_daily_tokens=5_000)
    owner, _ = await staff(tenant, "owner")
    page = await owner.get("/admin/settings/ai")
    assert "anyone who can open the site" in page.text
    assert "of 5,000" in page.text
    saved = await owner.post("/admin/settings/ai", {"ai_for": "staff", "ai_daily_tokens": "5000"})
    assert saved.status_code == 303
    assert "Only the staff" in (await owner.get("/admin/settings/ai")).text


@pytest.mark.both_databases
async def test_doctor_says_who_can_spend_what(ai: AiWorld) -> None:
    await ai.tenant()
    await ai.tenant(ai_for="staff", ai_api_key="")
    open_site = await ai.tenant(ai_api_key="")
    settings = ai.world.parts.settings
    state, detail = await doctor_ai(settings)
    assert state is CheckState.WARN
    assert "MASTHEAD_AI_FOR=staff" in detail
    assert "the platform's key: anyone on" in detail
    await open_site.settings(ai_for="staff")
    assert "the site's own key: anyone on" in detail
    without = await doctor_ai(replace(settings, ai_key=None))
    assert without[0] is CheckState.OK
