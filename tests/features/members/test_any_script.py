"""Members with a non-ASCII address, in all its variants."""

from __future__ import annotations

import pytest
from tests.features.members.test_email_change import ask, email_of, link_to
from tests.features.members.test_unsubscribe import is_subscribed, link_of
from tests.features.privacy.people import member_with_records
from tests.features.privacy.requests import DELETE, EXPORT, member_deletion, run_jobs
from tests.features.privacy.test_erasure import text_of as rows_of
from tests.outside.mail.offices import Office, text_of
from tests.world import PASSWORD, Account, TenantWorld, World, records_of

from masthead.identity.limits.sign_in_throttle import Attempt
from masthead.identity.setup import OperatorExists, create_operator

STORED = "ömil@xn--mnchen-3ya.example"
SPELLINGS = ("Ömil@MÜNCHEN.example", "o\u0308mil@mu\u0308nchen.example", f" {STORED} ")
SIGN_IN = "/api/collections/blog_members/auth-with-password"


@pytest.fixture
async def reader(tenant: TenantWorld) -> Account:
    return await tenant.member(email=SPELLINGS[0], newsletter=True)


async def test_the_address_is_stored_once(
    tenant: TenantWorld, owner: Account, reader: Account
) -> None:
    assert reader.email == STORED
    for spelling in SPELLINGS:
        answer = await owner.api.post(records_of("blog_members"), json={"email": spelling})
        assert answer.status_code == 400
        assert answer.json()["data"]["email"]["code"] == "validation_not_unique"
    refused = await owner.api.post(
        records_of("blog_members"), json={"email": "ö\u202emil@example.com"}
    )
    assert refused.json()["data"]["email"]["code"] == "validation_is_email"


@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_every_variant_signs_in(tenant: TenantWorld, reader: Account, spelling: str) -> None:
    answer = await tenant.guest.post(SIGN_IN, json={"identity": spelling, "password": PASSWORD})
    assert answer.status_code == 200
    assert answer.json()["record"]["email"] == STORED


def test_variants_share_the_sign_in_limit() -> None:
    subjects = {Attempt("blog_members", each, "").account_subject for each in SPELLINGS}
    assert len(subjects) == 1


async def test_a_variant_can_not_be_a_second_operator(app: World) -> None:
    await create_operator(app.parts.records, SPELLINGS[0], PASSWORD)
    for spelling in SPELLINGS:
        with pytest.raises(OperatorExists):
            await create_operator(app.parts.records, spelling, PASSWORD)


@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_every_variant_unsubscribes(
    tenant: TenantWorld, reader: Account, spelling: str
) -> None:
    link = link_of(tenant, spelling)
    assert link.isascii()
    assert link == link_of(tenant, STORED)
    page = await tenant.guest.get(link)
    assert STORED in page.text
    assert (await tenant.guest.post(link)).status_code == 200
    assert not await is_subscribed(tenant, reader)


async def test_a_change_to_such_an_address(office: Office) -> None:
    site = await office.world.new_tenant()
    ana = await site.member(email="ana@example.com")
    assert (await ask(ana, SPELLINGS[0])).status_code == 200
    link = await link_to(office, STORED)
    assert (await site.guest.post(link)).status_code == 200
    assert await email_of(site, ana) == STORED
    assert STORED in text_of(await office.mail_to("ana@example.com"))


async def test_export_and_erasure(tenant: TenantWorld, app: World) -> None:
    member, _ = await member_with_records(tenant, STORED)
    exported = await member.api.post(EXPORT, json={"type": "member", "member_id": member.id})
    assert exported.status_code < 300
    assert (await member.api.post(DELETE, json=member_deletion(member.id))).status_code < 300
    await run_jobs(app)
    assert STORED in await rows_of(app, tenant.id)
    app.clock.advance(days=30)
    await run_jobs(app)
    assert STORED not in (await rows_of(app, tenant.id)).lower()
