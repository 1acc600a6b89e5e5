"""Pages say of an email what is true: it is being sent, or it is a file as nothing sends it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path

import pytest
from tests.databases import fresh_url
from tests.faces.admin.visitor import OWN, staff
from tests.outside.mail.offices import Office
from tests.world import TenantWorld, open_world

from masthead.outside.mail.wording import STORED

ADDRESS = "ana@example.com"
FORMS = {"/member/sign-up": "join", "/member/sign-in": "sign in", "/member/forgot": "new password"}


@pytest.fixture
async def stored(office: Office) -> TenantWorld:
    return await office.world.new_tenant("site")


@pytest.fixture
async def sent(tmp_path: Path) -> AsyncIterator[TenantWorld]:
    # Nothing is sent: no worker runs.
    smtp = {"MASTHEAD_SMTP_URL": "smtp://127.0.0.1:9"}
    world = await open_world(fresh_url("sqlite", tmp_path), tmp_path, **smtp)
    yield await world.new_tenant("site")
    await world.parts.close()


async def said_to_reader(tenant: TenantWorld, path: str) -> str:
    page = await tenant.guest.get(path)
    token = page.text.partition('name="form_token" value="')[2].partition('"')[0]
    form = {"form_token": token, "email": ADDRESS}
    answer = await tenant.guest.post(path, data=form, headers=OWN)
    assert answer.status_code == 200
    return unescape(answer.text)


async def said_to_staff(tenant: TenantWorld) -> list[str]:
    owner, _ = await staff(tenant, "owner")
    form = {"email": ADDRESS, "name": "Ana", "role": "author"}
    invited = await owner.follow(await owner.post("/admin/staff", form))
    forgot = await tenant.guest.post("/admin/forgot", data={"email": ADDRESS}, headers=OWN)
    return [unescape(invited), unescape(forgot.text)]


@pytest.mark.parametrize(("path", "aim"), FORMS.items())
async def test_a_reader_learns_where_an_email_is_that_is_not_sent(
    stored: TenantWorld, path: str, aim: str
) -> None:
    page = await said_to_reader(stored, path)
    assert "<h1>The email is a file</h1>" in page
    assert STORED in page
    assert aim in page
    assert not any(each in page for each in ("on its way", "We are sending", "inbox"))


@pytest.mark.parametrize(("path", "aim"), FORMS.items())
async def test_a_reader_is_sent_to_the_inbox_where_emails_are_sent(
    sent: TenantWorld, path: str, aim: str
) -> None:
    page = await said_to_reader(sent, path)
    assert "<h1>Check your inbox</h1>" in page
    assert "e are sending" in page
    assert aim in page
    assert not any(each in page for each in ("on its way", "mail server", "a file"))


async def test_staff_learns_where_an_email_is_that_is_not_sent(stored: TenantWorld) -> None:
    invited, forgot = await said_to_staff(stored)
    assert f"An invitation for {ADDRESS} was written, not sent. {STORED}" in invited
    assert STORED in forgot
    assert "on its way" not in invited + forgot


async def test_staff_reads_that_an_email_is_being_sent(sent: TenantWorld) -> None:
    invited, forgot = await said_to_staff(sent)
    assert f"An invitation is being sent to {ADDRESS}." in invited
    assert "we are sending a link to choose a new password" in forgot
    assert "a file" not in invited + forgot


async def test_a_member_learns_it_of_a_new_address(stored: TenantWorld) -> None:
    member = await stored.member()
    page = await member.api.get("/member/account?done=email")
    assert f"A link for the new address was written, not sent. {STORED}" in page.text
    assert "The change takes effect when you confirm it there." in page.text


async def test_the_settings_do_not_claim_that_files_went_out(stored: TenantWorld) -> None:
    owner, _ = await staff(stored, "owner")
    page = (await owner.get("/admin/settings/mail")).text
    assert "Every email was sent" not in page
    assert STORED in page
    test = await owner.follow(await owner.post("/admin/settings/mail/test"))
    assert "is waiting for the worker, which writes it to a file" in test
