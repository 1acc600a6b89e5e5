"""A site's own domain in the admin: served only once a TXT record has proven it, whatever face an
owner uses. A real name server on loopback answers."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from html import unescape

import pytest
from tests.databases import fresh_url
from tests.faces.admin.visitor import Visitor, staff
from tests.outside.mail.offices import Office
from tests.outside.outbound.names import NameServer
from tests.world import TenantWorld, World, open_world, records_of

from masthead.engine.records.collection import Record
from masthead.features.site.collection import site_settings
from masthead.service.background import check_domains

DOMAIN = "/admin/settings/domain"
WANTED = "blog.example.com"


@dataclass
class Place:
    world: World
    names: NameServer
    tenant: TenantWorld
    owner: Visitor

    async def stored(self) -> Record:
        [found] = await self.world.parts.records.find(site_settings, {}, tenant_id=self.tenant.id)
        return found

    async def ask(self, domain: str = WANTED) -> tuple[str, str]:
        """The name and value of the TXT record that the page wants."""
        page = await self.owner.follow(await self.owner.post(DOMAIN, {"wanted_domain": domain}))
        return proof_in(page)

    async def at(self, host: str) -> int:
        return (await self.world.client(host).get("/")).status_code


def proof_in(page: str) -> tuple[str, str]:
    found = re.findall(r"data-copied>([^<]*)<", page)
    return unescape(found[0]), unescape(found[1])


@pytest.fixture(params=["sqlite", "postgresql"])
async def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Place]:
    names = NameServer()
    await names.start()
    folder = tmp_path_factory.mktemp("domain")
    world = await open_world(
        fresh_url(request.param, folder), folder, MASTHEAD_DNS_SERVER=f"127.0.0.1:{names.port}"
    )
    tenant = await world.new_tenant("tideline")
    owner, _ = await staff(tenant, "owner")
    yield Place(world, names, tenant, owner)
    await world.parts.close()
    names.close()


async def test_a_domain_is_served_once_its_txt_record_is_found(place: Place) -> None:
    name, value = await place.ask()
    assert name == f"_masthead.{WANTED}"
    assert await place.at(WANTED) == 404
    answer = await place.owner.post(f"{DOMAIN}/check")
    assert "There is no TXT record with this name yet" in answer.text
    place.names.tell_text(name, "v=spf1 -all", "masthead-site=0123")
    answer = await place.owner.post(f"{DOMAIN}/check")
    assert "with another value" in answer.text
    assert (await place.stored())["custom_domain"] == ""
    assert await place.at(WANTED) == 404
    place.names.tell_text(name, "v=spf1 -all", value)
    page = await place.owner.follow(await place.owner.post(f"{DOMAIN}/check"))
    assert f"{WANTED} is yours" in page
    assert await place.at(WANTED) == 200
    record = await place.stored()
    assert (record["custom_domain"], record["wanted_domain"]) == (WANTED, "")


async def test_the_check_repeats_as_a_part_of_the_page(place: Place) -> None:
    name, value = await place.ask()
    form = {"form_token": await place.owner.token()}
    headers = {"sec-fetch-site": "same-origin", "hx-request": "true"}
    answer = await place.owner.api.post(f"{DOMAIN}/check", data=form, headers=headers)
    assert ("<html" in answer.text, 'id="proof"' in answer.text) == (False, True)
    place.names.tell_text(name, value)
    answer = await place.owner.api.post(f"{DOMAIN}/check", data=form, headers=headers)
    assert answer.headers["hx-redirect"] == DOMAIN


async def test_checks_of_a_domain_are_limited(place: Place) -> None:
    name, value = await place.ask()
    for _ in range(20):
        assert (await place.owner.post(f"{DOMAIN}/check")).status_code == 200
    place.names.tell_text(name, value)
    refused = await place.owner.post(f"{DOMAIN}/check")
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "60")
    assert "Too many checks at once" in refused.text
    assert name in refused.text
    # Another site has its own.
    other, _ = await staff(await place.world.new_tenant("other"), "owner")
    await other.post(DOMAIN, {"wanted_domain": "other.example.com"})
    assert (await other.post(f"{DOMAIN}/check")).status_code == 200
    place.world.clock.advance(minutes=1)
    page = await place.owner.follow(await place.owner.post(f"{DOMAIN}/check"))
    assert f"{WANTED} is yours" in page
    headers = {"hx-request": "true"}
    for _ in range(19):
        answer = await place.owner.api.get(f"{DOMAIN}/address", headers=headers)
        assert "Points elsewhere" in answer.text
    refused = await place.owner.api.get(f"{DOMAIN}/address", headers=headers)
    assert (refused.status_code, "Too many checks at once" in refused.text) == (429, True)


async def test_the_proof_of_one_site_is_none_for_another(place: Place) -> None:
    name, value = await place.ask()
    thief = await place.world.new_tenant("thief")
    other, _ = await staff(thief, "owner")
    page = await other.follow(await other.post(DOMAIN, {"wanted_domain": WANTED}))
    assert proof_in(page)[1] != value
    place.names.tell_text(name, value)
    assert "with another value" in (await other.post(f"{DOMAIN}/check")).text
    assert await place.at(WANTED) == 404
    place.names.tell_text(name, value, proof_in(page)[1])
    await place.owner.post(f"{DOMAIN}/check")
    answer = await other.post(f"{DOMAIN}/check")
    assert "another site of this service uses this domain" in answer.text
    assert (await place.stored())["custom_domain"] == WANTED


async def test_no_api_lets_an_owner_skip_the_proof(place: Place) -> None:
    account = await place.tenant.owner()
    path = records_of("site_settings", (await place.stored())["id"])
    answer = await account.api.patch(path, json={"custom_domain": WANTED})
    assert (await place.stored())["custom_domain"] == "", answer.text
    answer = await account.api.patch(path, json={"wanted_domain": WANTED})
    assert answer.json()["wanted_domain"] == WANTED
    await place.owner.post(DOMAIN, {"wanted_domain": WANTED, "custom_domain": WANTED})
    assert (await place.stored())["custom_domain"] == ""
    assert await place.at(WANTED) == 404


async def test_a_domain_of_the_platform_or_none_is_refused(place: Place) -> None:
    for text in ("other.localhost", "not a domain", "203.0.113.7", "https://blog.example.com"):
        answer = await place.owner.post(DOMAIN, {"wanted_domain": text})
        assert (answer.status_code, 'id="wanted_domain-error"' in answer.text) == (422, True)


async def test_a_request_can_be_withdrawn_and_a_domain_given_up(place: Place) -> None:
    name, value = await place.ask()
    place.names.tell_text(name, value)
    await place.owner.post(DOMAIN, {"wanted_domain": ""})
    assert (await place.owner.post(f"{DOMAIN}/check")).status_code == 303
    assert await place.at(WANTED) == 404
    await place.ask()
    await place.owner.post(f"{DOMAIN}/check")
    assert await place.at(WANTED) == 200
    assert f"Remove {WANTED}?" in (await place.owner.get(f"{DOMAIN}/remove")).text
    page = await place.owner.follow(await place.owner.post(f"{DOMAIN}/remove"))
    assert " only." in page
    assert await place.at(WANTED) == 404
    assert (await place.owner.post(f"{DOMAIN}/remove")).status_code == 404


async def test_a_name_server_that_fails_is_said(place: Place) -> None:
    await place.ask()
    place.names.is_broken = True
    answer = await place.owner.post(f"{DOMAIN}/check")
    assert "did not answer" in answer.text


async def test_the_page_says_whether_the_domain_points_here(place: Place) -> None:
    await place.tenant.settings(custom_domain=WANTED)
    place.names.tell(place.tenant.host, ["192.0.2.1"])
    place.names.tell(WANTED, ["192.0.2.9"], ["192.0.2.1"])
    htmx = {"hx-request": "true"}
    assert "Points elsewhere" in (await place.owner.get(f"{DOMAIN}/address", **htmx)).text
    assert "Points here" in (await place.owner.get(f"{DOMAIN}/address", **htmx)).text


@pytest.mark.parametrize("role", ["editor", "author"])
async def test_the_domain_is_for_owners_alone(place: Place, role: str) -> None:
    name, value = await place.ask()
    place.names.tell_text(name, value)
    browser, _ = await staff(place.tenant, role)
    assert (await browser.get(DOMAIN)).status_code == 403
    for path in ("", "/check", "/remove"):
        form = {"wanted_domain": "evil.example"}
        assert (await browser.post(DOMAIN + path, form)).status_code == 403
    record = await place.stored()
    assert (record["custom_domain"], record["wanted_domain"]) == ("", WANTED)


async def proven(place: Place) -> tuple[str, str]:
    name, value = await place.ask()
    place.names.tell_text(name, value)
    await place.owner.follow(await place.owner.post(f"{DOMAIN}/check"))
    return name, value


async def after(place: Place, **length: float) -> Record:
    """The settings after so long and a round of the worker's chores."""
    place.world.clock.advance(**length)
    await check_domains(place.world.parts)
    return await place.stored()


async def home(place: Place) -> str:
    """Seen by an owner who signs in now: sessions are shorter than a proof's time."""
    owner, _ = await staff(place.tenant, "owner")
    return (await owner.get("/admin")).text


async def subjects(place: Place) -> list[str]:
    office = Office(place.world, place.world.parts.settings.data_dir / "mail")
    return [str(mail["subject"]) for mail in await office.mails()]


async def test_a_domain_ends_two_weeks_after_its_record_and_not_without_notice(
    place: Place,
) -> None:
    name, _ = await proven(place)
    assert (await after(place, days=8))["domain_missing_since"] == ""
    place.names.tell_text(name, "v=spf1 -all")
    assert (await after(place, days=6))["domain_missing_since"] == ""
    assert (await after(place, days=2))["domain_missing_since"]
    assert await place.at(WANTED) == 200
    assert f"The TXT record of {WANTED} is missing." in await home(place)
    assert (await after(place, days=12))["custom_domain"] == WANTED
    assert (await after(place, days=3))["custom_domain"] == ""
    assert await place.at(WANTED) == 404
    assert "The TXT record of" not in await home(place)
    assert await subjects(place) == [
        "The domain of tideline: its TXT record is missing",
        "The domain of tideline: it has ended",
    ]


async def test_a_record_that_is_there_again_ends_the_notice(place: Place) -> None:
    name, value = await proven(place)
    place.names.tell_text(name)
    assert (await after(place, days=8))["domain_missing_since"]
    place.names.tell_text(name, value)
    assert (await after(place, days=2))["domain_missing_since"] == ""
    assert (await after(place, days=30))["custom_domain"] == WANTED


async def test_name_servers_that_do_not_answer_end_no_domain(place: Place) -> None:
    await proven(place)
    place.names.is_broken = True
    for _ in range(3):
        assert (await after(place, days=15))["domain_missing_since"] == ""
    assert await place.at(WANTED) == 200


async def test_a_domain_that_an_operator_set_needs_no_proof(place: Place) -> None:
    await proven(place)
    await place.tenant.settings(custom_domain="other.example.com")
    assert (await place.stored())["domain_check_at"] == ""
    assert (await after(place, days=60))["custom_domain"] == "other.example.com"
    assert await subjects(place) == []
