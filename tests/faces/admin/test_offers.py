"""Owners make offers in the shop, and see how often they were taken."""

from __future__ import annotations

import pytest
from tests.faces.admin.visitor import staff
from tests.features.payments.processor import SECRET, Processor, joined
from tests.world import TenantWorld

from masthead.engine.records.collection import Record
from masthead.features.payments.offers import offers

LIST, NEW = "/admin/shop/offers", "/admin/shop/offers/new"
TIER = {"name": "Friend", "price": 500, "currency": "eur"}


@pytest.fixture
async def form(tenant: TenantWorld) -> dict[str, str]:
    """Half the price for three months."""
    tier = await tenant.create("tiers", TIER)
    return {
        **{"code": "Spring", "tier": tier["id"], "kind": "percent", "value": "50"},
        **{"months": "3", "max_uses": "20", "ends_at": "2027-01-01T12:00"},
        **{"has_active": "1", "active": "on"},
    }


async def stored(tenant: TenantWorld) -> Record:
    (record,) = await tenant.world.parts.records.find(offers, {}, tenant_id=tenant.id, limit=10)
    return record


async def test_an_offer_is_made_and_has_an_address_to_send(
    tenant: TenantWorld, form: dict[str, str]
) -> None:
    owner, _ = await staff(tenant, "owner")
    page = await owner.follow(await owner.post(NEW, form))
    assert "The offer spring is created" in page
    assert f"http://{tenant.host}/member/offer/spring</code>" in page
    assert "not taken yet" in page
    offer = await stored(tenant)
    assert (offer["ends_at"], offer["max_uses"]) == ("2027-01-01T12:00:00.000Z", 20)
    listed = (await owner.get(LIST)).text
    for words in ("spring", "Friend", "Open", "50% off, 3 months", "0 of 20"):
        assert words in listed
    assert "50% off Friend" in (await tenant.guest.get("/member/offer/spring")).text


async def test_the_end_is_in_the_time_zone_of_the_site(
    tenant: TenantWorld, form: dict[str, str]
) -> None:
    await tenant.settings(time_zone="Europe/Berlin")
    owner, _ = await staff(tenant, "owner")
    await owner.follow(await owner.post(NEW, form))
    offer = await stored(tenant)
    assert offer["ends_at"] == "2027-01-01T11:00:00.000Z"
    path = f"{LIST}/{offer['id']}"
    assert 'value="2027-01-01T12:00"' in (await owner.get(path)).text
    # The field has no seconds, so a form that is saved as it was leaves the stored ones.
    await tenant.update("offers", offer["id"], {"ends_at": "2027-01-01T11:00:30Z"})
    await owner.follow(await owner.post(path, form))
    assert (await stored(tenant))["ends_at"] == "2027-01-01T11:00:30.000Z"
    await owner.follow(await owner.post(path, {**form, "ends_at": ""}))
    assert (await stored(tenant))["ends_at"] == ""


async def test_it_is_switched_off_and_says_so(tenant: TenantWorld, form: dict[str, str]) -> None:
    owner, _ = await staff(tenant, "owner")
    await owner.follow(await owner.post(NEW, form))
    path = f"{LIST}/{(await stored(tenant))['id']}"
    off = {name: value for name, value in form.items() if name != "active"}
    assert "The offer spring is saved" in await owner.follow(await owner.post(path, off))
    assert "Switched off" in (await owner.get(LIST)).text
    assert (await tenant.guest.get("/member/offer/spring")).status_code == 404


async def test_it_says_how_often_it_was_taken(tenant: TenantWorld, form: dict[str, str]) -> None:
    await tenant.settings(member_payment_webhook_secret=SECRET)
    owner, _ = await staff(tenant, "owner")
    await owner.follow(await owner.post(NEW, {**form, "max_uses": "1"}))
    offer = await stored(tenant)
    await Processor(tenant).send(joined(metadata={"offer_id": offer["id"]}))
    page = (await owner.get(f"{LIST}/{offer['id']}")).text
    assert "Used up" in page
    assert "taken 1 of 1 times" in page
    assert "1 of 1" in (await owner.get(LIST)).text


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"code": "half price"}, "code"),
        ({"value": "101"}, "value"),
        ({"kind": "trial_days", "value": "14"}, "months"),
        ({"ends_at": "tomorrow"}, "ends_at"),
    ],
)
async def test_what_is_wrong_is_said_and_nothing_typed_is_lost(
    tenant: TenantWorld, form: dict[str, str], wrong: dict[str, str], field: str
) -> None:
    owner, _ = await staff(tenant, "owner")
    answer = await owner.post(NEW, form | wrong)
    assert answer.status_code == 422
    assert f'id="{field}-error"' in answer.text
    assert f'value="{(form | wrong)["code"]}"' in answer.text


async def test_a_site_without_tiers_makes_one_first(tenant: TenantWorld) -> None:
    owner, _ = await staff(tenant, "owner")
    moved = await owner.get(NEW)
    assert (moved.status_code, moved.headers["location"]) == (303, "/admin/shop/tiers/new")


@pytest.mark.parametrize("role", ["editor", "author"])
async def test_only_owners_make_offers(
    tenant: TenantWorld, form: dict[str, str], role: str
) -> None:
    visitor, _ = await staff(tenant, role)
    assert (await visitor.get(LIST)).status_code == 403
    assert (await visitor.get(NEW)).status_code == 403
