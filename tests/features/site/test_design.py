"""The settings of a site's design, through every API: one validation, and code only where the
operator allows it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.v1.keys import key_client
from tests.world import Account, TenantWorld, World, records_of

from masthead.features.site.design import site_name_of

GOOD: dict[str, Any] = {
    "theme": "letter",
    "fonts": "mono",
    "width": "wide",
    "home_layout": "grid",
    "footer_text": "Made by the sea.",
    "footer_links": [{"label": "Privacy", "url": "/privacy"}],
    "social": ["https://social.example.com/@tideline"],
    "announcement": {
        "text": "The winter issue",
        "url": "/winter",
        "until": "2030-01-01T00:00:00.000Z",
    },
    "site_logo_dark": "https://example.com/dark.svg",
}
BAD: tuple[tuple[str, Any], ...] = (
    ("theme", "harbour"),
    ("theme", "../plain"),
    ("fonts", "comic"),
    ("width", 3),
    ("home_layout", "LEAD"),
    ("footer_text", "x" * 1001),
    ("footer_links", [{"label": "Evil", "url": "javascript:alert(1)"}]),
    ("social", ["/about"]),
    ("social", ["javascript:alert(1)"]),
    ("social", "x"),
    ("announcement", "text"),
    ("announcement", []),
    ("announcement", {}),
    ("announcement", {"text": " "}),
    ("announcement", {"text": "x" * 201}),
    ("announcement", {"text": "News", "url": "javascript:alert(1)"}),
    ("announcement", {"text": "News", "url": 3}),
    ("announcement", {"text": "News", "url": ""}),
    ("announcement", {"text": "News", "until": ""}),
    ("announcement", {"text": "News", "until": "soon"}),
    ("announcement", {"text": "News", "until": 3}),
    ("announcement", {"text": "News", "html": "<b>"}),
    ("site_logo_dark", "javascript:alert(1)"),
)
CODE = "<script>count()</script>"
V1 = "/api/v1/site-settings"


async def settings_path(app: World, tenant: TenantWorld) -> str:
    found = await app.parts.records.find(app.collection("site_settings"), {}, tenant_id=tenant.id)
    return records_of("site_settings", found[0]["id"])


async def test_the_design_is_set_in_both_apis_and_shown_where_it_is_set(
    app: World, tenant: TenantWorld
) -> None:
    key, owner = (
        await key_client(tenant, "site-settings:read", "settings:write"),
        await tenant.owner(),
    )
    path = await settings_path(app, tenant)
    before = (await key.get(V1)).json()
    assert not GOOD.keys() & before.keys()
    answer = await key.patch(V1, json=GOOD)
    assert answer.status_code == 200, answer.text
    assert {name: answer.json()["data"][name] for name in GOOD} == GOOD
    assert {name: (await key.get(V1)).json()[name] for name in GOOD} == GOOD
    stored = (await owner.api.get(path)).json()
    assert {name: stored[name] for name in GOOD} == GOOD
    assert (await key.patch(V1, json={"theme": ""})).status_code == 200
    # Null clears each of them, and the answer is that of the beginning.
    cleared = await key.patch(V1, json=dict.fromkeys(GOOD))
    assert cleared.json()["data"].keys() == before.keys()
    answer = await owner.api.patch(path, json=GOOD)
    assert {name: answer.json()[name] for name in GOOD} == GOOD


async def test_other_values_are_refused_on_their_field(app: World, tenant: TenantWorld) -> None:
    key, owner = await key_client(tenant, "settings:write"), await tenant.owner()
    path = await settings_path(app, tenant)
    for name, value in BAD:
        refused = await key.patch(V1, json={name: value})
        assert (refused.status_code, refused.json()["error"]["details"].keys()) == (422, {name})
        answer = await owner.api.patch(path, json={name: value})
        assert (answer.status_code, answer.json()["data"].keys()) == (400, {name})


class TestCode:
    async def test_is_refused_until_the_operator_allows_it(
        self, app: World, tenant: TenantWorld, operator: Account
    ) -> None:
        key, owner = await key_client(tenant, "settings:write"), await tenant.owner()
        path = await settings_path(app, tenant)
        for name in ("head_html", "foot_html"):
            assert (await key.patch(V1, json={name: CODE})).status_code == 422
            refused = await owner.api.patch(path, json={name: CODE})
            assert (refused.status_code, refused.json()["data"].keys()) == (400, {name})
        # Neither owners nor keys allow it to themselves, not even together with the code.
        for given in ({"code_allowed": True}, {"code_allowed": True, "head_html": CODE}):
            assert (await key.patch(V1, json=given)).status_code == 422
            assert (await owner.api.patch(path, json=given)).status_code in (400, 403)
        assert (await operator.api.patch(path, json={"code_allowed": True})).status_code == 200
        assert (await key.patch(V1, json={"head_html": CODE})).json()["data"]["head_html"] == CODE
        assert (await owner.api.patch(path, json={"foot_html": CODE})).status_code == 200
        await operator.api.patch(path, json={"code_allowed": False})
        # What is stored may stay or go, and nothing new comes.
        stays = {"site_name": "Same", "head_html": CODE}
        assert (await owner.api.patch(path, json=stays)).status_code == 200
        assert (await owner.api.patch(path, json={"head_html": f"{CODE} "})).status_code == 400
        assert (await owner.api.patch(path, json={"head_html": ""})).status_code == 200

    async def test_is_not_for_editors(
        self, app: World, tenant: TenantWorld, operator: Account
    ) -> None:
        path = await settings_path(app, tenant)
        await tenant.settings(code_allowed=True)
        editor = await tenant.owner(role="editor")
        member = await tenant.member()
        for api in (editor.api, member.api, tenant.guest):
            assert (await api.patch(path, json={"head_html": CODE})).status_code in (401, 403, 404)

    async def test_has_a_limit(self, tenant: TenantWorld) -> None:
        await tenant.settings(code_allowed=True)
        key = await key_client(tenant, "settings:write")
        assert (await key.patch(V1, json={"foot_html": "x" * 20_001})).status_code == 422


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://github.com/x", "GitHub"),
        ("https://www.youtube.com/@x", "YouTube"),
        ("https://social.example.com/@x", "Mastodon"),
        ("https://example.org/x", "example.org"),
    ],
)
def test_a_profile_is_named_after_its_site(address: str, name: str) -> None:
    assert site_name_of(address) == name
