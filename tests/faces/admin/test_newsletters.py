"""Owners edit the newsletters of their site."""

from __future__ import annotations

from tests.faces.admin.filled_form import filled
from tests.faces.admin.visitor import staff
from tests.world import TenantWorld

from masthead.engine.records.collection import Record
from masthead.features.members.newsletters import newsletters

ADDRESS = "/admin/settings/newsletters"


async def stored(tenant: TenantWorld) -> dict[str, Record]:
    found = await tenant.world.parts.records.find(newsletters, {}, tenant_id=tenant.id, limit=9)
    return {each["slug"]: each for each in found}


async def test_a_newsletter_is_made_changed_and_deleted(tenant: TenantWorld) -> None:
    owner, _ = await staff(tenant, "owner")
    form = {"name": "Sunday", "description": "Long reads", "reply_to": "no address"}
    refused = await owner.post(f"{ADDRESS}/new", form)
    assert refused.status_code == 422
    assert 'value="Sunday"' in " ".join(refused.text.split())
    made = await owner.post(f"{ADDRESS}/new", form | {"reply_to": "desk@example.com"})
    page = await owner.follow(made)
    assert "Sunday is ready." in page
    assert "Long reads" in page
    path = f"{ADDRESS}/{(await stored(tenant))['sunday']['id']}"
    changed = filled((await owner.get(path)).text) | {"sender_name": "Nell"}
    assert "Sunday is saved." in await owner.follow(await owner.post(path, changed))
    assert (await stored(tenant))["sunday"]["sender_name"] == "Nell"
    assert (await stored(tenant))["sunday"]["reply_to"] == "desk@example.com"
    assert "can no longer subscribe" in (await owner.get(f"{path}/delete")).text
    await owner.follow(await owner.post(f"{path}/delete"))
    assert list(await stored(tenant)) == ["main"]


async def test_the_main_newsletter_has_no_button_to_delete_it(tenant: TenantWorld) -> None:
    owner, _ = await staff(tenant, "owner")
    path = f"{ADDRESS}/{(await stored(tenant))['main']['id']}"
    assert "Delete…" not in (await owner.get(path)).text
    answer = await owner.post(f"{path}/delete")
    assert answer.status_code in (400, 409, 422)
    assert list(await stored(tenant)) == ["main"]


async def test_only_owners_see_them(tenant: TenantWorld, other_tenant: TenantWorld) -> None:
    main = (await stored(tenant))["main"]
    for role in ("editor", "author"):
        person, _ = await staff(tenant, role)
        for path in (ADDRESS, f"{ADDRESS}/new", f"{ADDRESS}/{main['id']}"):
            assert (await person.get(path)).status_code in (403, 404)
    foreign, _ = await staff(other_tenant, "owner")
    assert (await foreign.get(f"{ADDRESS}/{main['id']}")).status_code == 404
