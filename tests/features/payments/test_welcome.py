"""The email to a member whose payment has arrived."""

from __future__ import annotations

from tests.features.payments.processor import JUNE, ended, joined, new_processor, subscription
from tests.outside.mail.offices import Office, office, office_world, text_of

__all__ = ["office", "office_world"]


async def test_a_member_who_has_paid_is_mailed_once(office: Office) -> None:
    processor = await new_processor(office.world)
    event = joined()
    await processor.send(event, event, subscription("active"), subscription("active", JUNE + 60))
    mail = await office.mail_to("reader@example.com")
    assert mail["subject"] == "You are a paid member of shop"
    text = text_of(mail)
    assert "with reader@example.com, the address of this email" in " ".join(text.split())
    assert f"http://{processor.tenant.host}/member/account" in text


async def test_one_whose_membership_has_ended_meanwhile_is_not(office: Office) -> None:
    processor = await new_processor(office.world)
    await processor.send(joined(), ended(JUNE + 60))
    assert await office.mails() == []


async def test_a_member_who_comes_back_is_mailed_again(office: Office) -> None:
    processor = await new_processor(office.world)
    await processor.send(joined())
    assert len(await office.mails()) == 1
    again = joined(JUNE + 120, subscription="sub_2", id="cs_2")
    await processor.send(ended(JUNE + 60), again)
    assert len(await office.mails()) == 2


async def test_who_an_owner_makes_a_paid_member_is_not(office: Office) -> None:
    processor = await new_processor(office.world)
    member = await processor.tenant.create("blog_members", {"email": "ana@example.com"})
    await processor.tenant.update("blog_members", member["id"], {"tier": "paid"})
    assert await office.mails() == []
