"""An erasure leaves nothing of a member's address, whatever became of the emails to it."""

from __future__ import annotations

import pytest
from tests.every_row import every_row
from tests.features.mailings.conftest import MAILINGS, Press
from tests.features.privacy.requests import DELETE, member_deletion, run_jobs

EMAIL = "ada.lovelace@engines.example"
REFUSED = f"550 5.1.1 <{EMAIL.upper()}>: {EMAIL} is unknown here"


async def tables_with_address(press: Press) -> list[str]:
    rows = await every_row(press.world.parts.database)
    return [name for name, found in rows.items() if EMAIL in repr(list(map(tuple, found))).lower()]


@pytest.mark.parametrize("fate", ["sent", "failed", "uncertain", "pending"])
async def test_no_row_holds_an_erased_address(press: Press, fate: str) -> None:
    member = await press.tenant.member(email=EMAIL, newsletter=True)
    await press.readers(1)
    mailing = await press.mail(await press.tenant.published())
    if fate == "pending":
        await press.api.post(f"{MAILINGS}/{mailing['id']}/pause")
    if fate == "failed":
        press.postbox.unknown.add(EMAIL)
        press.postbox.no_mailbox = REFUSED
    if fate == "uncertain":
        press.postbox.silent.add(EMAIL)
    await press.send()
    assert (await press.recipients(mailing))[member.id][0] == fate
    assert "blog_members" in await tables_with_address(press)

    # The mail server takes the emails about the erasure.
    press.postbox.unknown.clear()
    press.postbox.silent.clear()
    asked = await member.api.post(DELETE, json=member_deletion(member.id))
    assert asked.status_code == 202, asked.text
    await run_jobs(press.world)
    press.world.clock.advance(days=31)
    await run_jobs(press.world)

    assert await tables_with_address(press) == []
    if fate == "pending":
        await press.api.post(f"{MAILINGS}/{mailing['id']}/resume")
        await press.send()
        assert (await press.state(mailing))["unsubscribed"] == 1
        letters = [each["To"] for each in press.postbox.letters if each["List-Id"]]
        assert letters == ["reader0@example.com"]
