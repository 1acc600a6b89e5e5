"""An email is committed with its change, sent by the worker, and retried after an error."""

from __future__ import annotations

import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.log_lines import capture_logs
from tests.outside.mail.offices import Office, everything, text_of
from tests.outside.mail.postbox import PASSWORD, USER, Postbox
from tests.tls import Authority
from tests.world import TenantWorld, World, open_world

from masthead.base.caller import system
from masthead.engine.jobs.runner import JobRunner
from masthead.engine.records.versions import TenantVersions
from masthead.features.members.collection import member_mails
from masthead.features.site.address import Site
from masthead.outside.mail.emails import write_email
from masthead.outside.mail.jobs import handlers
from masthead.outside.mail.message import ComposedMail
from masthead.outside.mail.outbox import RETENTION
from masthead.outside.mail.transport import Transport, transport_of
from masthead.service.background import job_runner

LINK = "https://demo.example.org/member/confirm-email?token=s3cret-token"


async def queue(tenant: TenantWorld, to: str = "reader@example.com") -> str:
    mail = write_email("confirm_email", Site("Demo", "https://demo.example.org"), to, link=LINK)
    async with tenant.world.parts.records.unit(system(tenant.id)) as unit:
        return await tenant.world.parts.mail.queue(unit, mail)


async def outcomes(tenant: TenantWorld) -> list[str]:
    """Returns the states of the emails to members."""
    found = await tenant.world.parts.records.find(member_mails, {}, tenant_id=tenant.id, limit=9)
    assert all(bool(each["ended_at"]) is (each["state"] != "waiting") for each in found)
    return sorted(each["state"] for each in found)


class TestFiles:
    async def test_without_a_server_each_mail_is_a_file(self, office: Office) -> None:
        tenant = await office.world.new_tenant()
        mail_id = await queue(tenant)
        (mail,) = await office.mails()
        (path,) = office.folder.iterdir()
        assert path.name == f"20261114T093002-{mail_id}.eml"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert mail["message-id"] == f"<{mail_id}@localhost>"
        assert mail["from"] == "Masthead <no-reply@localhost>"
        assert LINK in text_of(mail)
        assert mail.defects == []

    async def test_a_change_that_fails_sends_nothing(self, office: Office) -> None:
        tenant = await office.world.new_tenant()
        mail = write_email("confirm_email", Site("D", "https://d.x"), "a@example.com", link=LINK)

        async def fail_after_queueing() -> None:
            async with office.world.parts.records.unit(system(tenant.id)) as unit:
                await office.world.parts.mail.queue(unit, mail)
                raise RuntimeError

        with pytest.raises(RuntimeError):
            await fail_after_queueing()
        assert await office.mails() == []

    async def test_queued_emails_are_encrypted(self, office: Office) -> None:
        tenant = await office.world.new_tenant()
        await queue(tenant)
        waiting = repr(await everything(office.world))
        assert "reader@example.com" in waiting
        assert "s3cret-token" not in waiting

    async def test_a_sent_email_is_deleted(self, office: Office) -> None:
        tenant = await office.world.new_tenant()
        await queue(tenant)
        await office.send()
        left = await everything(office.world)
        assert (left["mails"], left["jobs"]) == ([], [])

    async def test_sending_to_a_member_is_no_change_of_the_site(self, office: Office) -> None:
        tenant = await office.world.new_tenant()
        await tenant.create("blog_members", {"email": "reader@example.com"})
        for send in (True, False):
            mail_id = await queue(tenant)
            versions = TenantVersions(office.world.parts.database)
            before = await versions.of(tenant.id)
            if send:
                await office.send()
            else:
                await office.world.parts.mail.discard(tenant.id, mail_id, "No such mailbox.")
            after = await TenantVersions(office.world.parts.database).of(tenant.id)
            assert after == before
        assert await outcomes(tenant) == ["failed", "sent"]

    async def test_an_invalid_address_fails_at_once(self, office: Office) -> None:
        tenant = await office.world.new_tenant()
        with pytest.raises(ValueError):
            await queue(tenant, "a@example.com\r\nBcc: b@example.com")
        assert (await everything(office.world))["jobs"] == []

    async def test_an_unsent_email_is_deleted_after_two_weeks(self, office: Office) -> None:
        tenant = await office.world.new_tenant()
        await queue(tenant)
        await office.world.parts.mail.sweep()
        assert len((await everything(office.world))["mails"]) == 1
        office.world.clock.advance(days=RETENTION.days, seconds=1)
        await office.world.parts.mail.sweep()
        assert await office.mails() == []


@pytest.fixture
async def postbox(tmp_path: Path) -> AsyncIterator[Postbox]:
    certificate = Authority(tmp_path).certificate()
    async with Postbox("starttls", certificate, needs_login=True) as postbox:
        yield postbox


@pytest.fixture
async def world(database_url: str, tmp_path: Path, postbox: Postbox) -> AsyncIterator[World]:
    password = "".join(f"%{ord(character):02x}" for character in PASSWORD)
    world = await open_world(
        database_url,
        tmp_path,
        MASTHEAD_SMTP_URL=f"smtp://{USER}:{password}@127.0.0.1:{postbox.port}?starttls=1",
        MASTHEAD_MAIL_FROM="Die Zeitung <post@zeitung.example>",
        MASTHEAD_OUTBOUND_CA_FILE=str(tmp_path / "authority.pem"),
    )
    yield world
    await world.parts.close()


class Crash(BaseException):
    """Ends a worker as a kill would: nothing catches it."""


class DyingRoad:
    """Sends, and then the worker dies."""

    def __init__(self, road: Transport) -> None:
        self._road = road

    async def send(self, mail_id: str, mail: ComposedMail) -> None:
        await self._road.send(mail_id, mail)
        raise Crash


class TestServer:
    async def test_the_worker_sends_over_smtp(self, world: World, postbox: Postbox) -> None:
        mail_id = await queue(await world.new_tenant())
        assert await job_runner(world.parts).run_due() == 1
        (mail,) = postbox.letters
        assert mail["from"] == "Die Zeitung <post@zeitung.example>"
        assert mail["message-id"] == f"<{mail_id}@zeitung.example>"
        assert LINK in text_of(mail)
        assert postbox.was_secure == [True]

    async def test_a_server_that_is_down_is_retried(self, world: World, postbox: Postbox) -> None:
        await queue(await world.new_tenant())
        await postbox.close()
        runner = job_runner(world.parts)
        with capture_logs() as logs:
            assert await runner.run_due() == 1
        assert [line["event"] for line in logs] == ["jobs.failed"]
        await postbox.open()
        assert await runner.run_due() == 0
        world.clock.advance(minutes=1)
        assert await runner.run_due() == 1
        assert len(postbox.letters) == 1

    async def test_after_a_crash_the_same_email_is_sent_again(
        self, world: World, postbox: Postbox
    ) -> None:
        await queue(await world.new_tenant())
        settings = world.parts.settings
        road = DyingRoad(transport_of(settings, world.parts.signer))
        dying = JobRunner(
            world.parts.database,
            handlers(world.parts.mail, road, settings.mail_from, world.parts.signing_keys),
            world.clock,
        )
        with pytest.raises(Crash):
            await dying.run_due()
        world.clock.advance(minutes=10)
        assert await job_runner(world.parts).run_due() == 1
        first, second = postbox.letters
        assert first["message-id"] == second["message-id"]
        assert first.as_bytes() == second.as_bytes()

    # SQLite has one writer: there, a long change holds up every other.
    @pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
    async def test_a_change_of_the_site_that_takes_long_sends_no_mail_twice(
        self, world: World, postbox: Postbox
    ) -> None:
        tenant = await world.new_tenant()
        await tenant.create("blog_members", {"email": "reader@example.com"})
        await queue(tenant)
        with capture_logs() as logs:
            async with world.parts.records.unit(system(tenant.id)):
                await job_runner(world.parts).run_due()
        assert [line for line in logs if line["event"] == "jobs.failed"] == []
        world.clock.advance(hours=1)
        await job_runner(world.parts).run_due()
        assert len(postbox.letters) == 1
        assert await outcomes(tenant) == ["sent"]

    async def test_an_unknown_mailbox_is_not_retried(self, world: World, postbox: Postbox) -> None:
        tenant = await world.new_tenant()
        mail_id = await queue(tenant)
        postbox.refusals.append("550 5.1.1 No such user")
        with capture_logs() as logs:
            await job_runner(world.parts).run_due()
        (line,) = logs
        assert (line["event"], line["reason"]) == ("mail.undeliverable", "there is no such mailbox")
        left = await everything(world)
        assert left["jobs"] == []
        # The reason stays, and nothing of the content.
        [row] = left["mails"]
        assert "there is no such mailbox" in row
        assert await world.parts.mail.get(tenant.id, mail_id) is None

    @pytest.mark.parametrize("takes_utf8", [False, True])
    async def test_an_email_to_a_non_ascii_address_is_sent_or_not_retried(
        self, world: World, postbox: Postbox, takes_utf8: bool
    ) -> None:
        postbox.takes_utf8 = takes_utf8
        await queue(await world.new_tenant(), "ömil@münchen.example")
        with capture_logs() as logs:
            await job_runner(world.parts).run_due()
        assert [mail["to"] for mail in postbox.letters] == (
            ["ömil@xn--mnchen-3ya.example"] if takes_utf8 else []
        )
        assert [line["event"] for line in logs] == ([] if takes_utf8 else ["mail.undeliverable"])
        assert all("SMTPUTF8" in line["reason"] for line in logs)
        left = await everything(world)
        assert ("SMTPUTF8" in str(left["mails"])) is not takes_utf8
        assert left["jobs"] == []
