"""A service for tests of emails, empty for each of them, and access to what it has sent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

import pytest
from tests.databases import fresh_url
from tests.every_row import delete_every_row, every_row
from tests.world import START, World, open_world

from masthead.service.background import job_runner


@dataclass(frozen=True)
class Office:
    """A world without an SMTP server: its emails are files."""

    world: World
    folder: Path

    async def send(self) -> None:
        """Runs due jobs as the worker does."""
        runner = job_runner(self.world.parts)
        while await runner.run_due():
            pass

    async def mails(self) -> list[EmailMessage]:
        """All emails so far, the oldest first."""
        await self.send()
        return [read_mail(path) for path in sorted(self.folder.glob("*.eml"))]

    async def mail_to(self, address: str) -> EmailMessage:
        (found,) = [
            mail for mail in await self.mails() if mail["to"].addresses[0].addr_spec == address
        ]
        return found


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
async def office_world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("office")
    world = await open_world(fresh_url(request.param, folder), folder)
    yield world
    await world.parts.close()


@pytest.fixture
async def office(office_world: World) -> Office:
    """Without a row and without an email of earlier tests."""
    office_world.clock.moment = START
    await delete_every_row(office_world.parts.database)
    folder = office_world.parts.settings.data_dir / "mail"
    for path in folder.glob("*.eml"):
        path.unlink()
    return Office(office_world, folder)


def read_mail(path: Path) -> EmailMessage:
    mail = message_from_bytes(path.read_bytes(), policy=default)
    assert isinstance(mail, EmailMessage)
    return mail


def text_of(mail: EmailMessage, kind: str = "plain") -> str:
    part = mail.get_body((kind,))
    assert part is not None
    content: str = part.get_content()
    return content


async def everything(world: World) -> dict[str, list[Any]]:
    """Every row of every table."""
    found = await every_row(world.parts.database)
    return {name: sorted(map(repr, map(tuple, rows))) for name, rows in found.items()}
