"""The outcome of each recipient is stored, whatever happens around it."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from tests.features.mailings.conftest import Press

from masthead.base.errors import Unavailable
from masthead.features.mailings import ledger as ledger_module
from masthead.features.mailings.ledger import Ledger
from masthead.features.mailings.queue import (
    LEASE,
    Addressee,
    AttemptResult,
    MailingKey,
    Progress,
    RecipientQueue,
)
from masthead.features.mailings.tables import RecipientState
from masthead.service.schema import tables


async def test_connections_go_on_if_progress_can_not_be_noted(press: Press) -> None:
    await press.readers(2)
    mailing = await press.mail(await press.tenant.published())
    queue = RecipientQueue(press.world.parts.database, tables, press.world.clock)
    key = MailingKey(press.tenant.id, mailing["id"])
    first, second = await queue.claim(key, Addressee("main"), 2)
    told: list[int] = []

    async def fail(_: MailingKey, progress: Progress) -> None:
        told.append(progress.sent)
        raise Unavailable

    ledger = Ledger(queue, fail, connections=1)
    async with asyncio.timeout(20), ledger.running():
        for each in (first, second):
            assert await ledger.may_hand_over(each)
            ledger.record(AttemptResult(each, RecipientState.SENT))
    assert told == [1, 2]
    assert (await press.state(mailing))["sent"] == 2


async def test_one_that_the_database_refuses_holds_up_no_other(
    press: Press, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "RETRY_SECONDS", 0.001)
    await press.readers(3)
    mailing = await press.mail(await press.tenant.published())
    queue = RecipientQueue(press.world.parts.database, tables, press.world.clock)
    key = MailingKey(press.tenant.id, mailing["id"])
    claimed = await queue.claim(key, Addressee("main"), 3)

    async def notice(_: MailingKey, __: Progress) -> None:
        return

    ledger = Ledger(queue, notice, connections=3)
    async with asyncio.timeout(20), ledger.running():
        await asyncio.gather(*map(ledger.may_hand_over, claimed))
        spoilt, *others = claimed
        # SQLite and PostgreSQL take no list for a text.
        ledger.record(AttemptResult(spoilt, RecipientState.FAILED, cast(str, ["planted"])))
        for each in others:
            ledger.record(AttemptResult(each, RecipientState.SENT))
    assert (await press.state(mailing))["sent"] == 2
    press.world.clock.advance(seconds=LEASE.total_seconds() + 1)
    await press.send()
    assert (await press.recipients(mailing))[spoilt.member_id][0] == "uncertain"
