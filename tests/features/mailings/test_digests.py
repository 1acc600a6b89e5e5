"""Weekly digests: the posts of the week that each reader can read, once, and none for an empty
week."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.faces.admin.filled_form import filled
from tests.faces.admin.visitor import staff
from tests.features.mailings.conftest import Press

from masthead.base import clock
from masthead.engine.records.collection import Record
from masthead.features.mailings.collection import mailings
from masthead.features.mailings.digests import Digests
from masthead.features.members.digest_times import next_digest
from masthead.features.members.newsletters import newsletters
from masthead.service.background import mailing_worker

WEEK = timedelta(days=7)


async def main_of(press: Press) -> Record:
    found = await press.world.parts.records.find(
        newsletters, {"slug": "main"}, tenant_id=press.tenant.id
    )
    return found[0]


async def turn_on(press: Press, **values: Any) -> Record:
    main = await main_of(press)
    given = {"digest": True, "digest_weekday": "friday", "digest_hour": 9} | values
    return await press.tenant.update("newsletters", main["id"], given)


def digests(press: Press) -> Digests:
    return Digests(press.world.parts.records, press.world.parts.mailings.starting)


async def run(press: Press) -> None:
    await digests(press).start_due()
    await mailing_worker(press.world.parts).run_due()


async def made(press: Press) -> list[Record]:
    return await press.world.parts.records.find(mailings, {}, tenant_id=press.tenant.id, limit=9)


def go_to(press: Press, moment: str) -> None:
    press.world.clock.moment = clock.from_text(moment) + timedelta(seconds=30)


def body(letter: Any, kind: str = "plain") -> str:
    text: str = letter.get_body((kind,)).get_content()
    return text


async def test_readers_get_the_posts_of_the_week_once(press: Press) -> None:
    await press.readers(3)
    due = (await turn_on(press))["digest_at"]
    await press.tenant.published(title="Low <tide>", excerpt="The mill at dawn")
    await press.tenant.published(title="High tide", featured_image="/media/x/y.png")
    await press.tenant.post(title="A draft")
    await press.tenant.published(title="By email only", email_only=True)
    await run(press)
    assert press.postbox.letters == []
    go_to(press, due)
    for _ in range(3):
        await run(press)
    assert sorted(press.addresses) == [f"reader{each}@example.com" for each in range(3)]
    letter = press.postbox.letters[0]
    assert letter["Subject"] == "This week in coast"
    assert letter["List-Unsubscribe"]
    assert letter["List-Id"]
    for each in ("Low <tide>", "The mill at dawn", "High tide", f"{press.tenant.host}/posts/low"):
        assert each in body(letter)
    assert "A draft" not in body(letter)
    assert "By email only" not in body(letter)
    assert "because you subscribed" in " ".join(body(letter).split())
    html = body(letter, "html")
    assert "Low &lt;tide&gt;" in html
    assert "/media/x/y.png" in html
    [mailing] = await made(press)
    assert (mailing["kind"], mailing["status"], mailing["sent"]) == ("digest", "sent", 3)
    assert (await main_of(press))["digest_at"] == clock.to_text(clock.from_text(due) + WEEK)


async def test_a_week_without_posts_has_no_digest(press: Press) -> None:
    await press.readers(1)
    await press.tenant.published(title="Older")
    press.world.clock.advance(days=30)
    due = (await turn_on(press))["digest_at"]
    go_to(press, due)
    await run(press)
    assert await made(press) == []
    assert press.postbox.letters == []
    await press.tenant.published(title="After the digest")
    go_to(press, (await main_of(press))["digest_at"])
    await run(press)
    assert "After the digest" in body(press.postbox.letters[0])


async def test_each_reader_gets_what_they_can_read(press: Press) -> None:
    await press.readers(1, "free")
    await press.readers(1, "paid", tier="paid")
    due = (await turn_on(press))["digest_at"]
    await press.tenant.published(title="For everyone")
    await press.tenant.published(title="Behind the wall", visibility="paid")
    go_to(press, due)
    await run(press)
    letters = {each["To"]: body(each) for each in press.postbox.letters}
    assert len(letters) == 2
    assert all("For everyone" in each for each in letters.values())
    assert "Behind the wall" in letters["paid0@example.com"]
    assert "Behind the wall" not in letters["free0@example.com"]


async def test_a_week_of_paid_posts_goes_to_paid_readers_only(press: Press) -> None:
    await press.readers(1, "free")
    await press.readers(1, "paid", tier="paid")
    due = (await turn_on(press))["digest_at"]
    await press.tenant.published(title="Behind the wall", visibility="paid")
    go_to(press, due)
    await run(press)
    assert press.addresses == ["paid0@example.com"]


async def test_after_weeks_without_a_worker_one_digest_has_all_of_them(press: Press) -> None:
    await press.readers(1)
    due = (await turn_on(press))["digest_at"]
    await press.tenant.published(title="First week")
    go_to(press, due)
    press.world.clock.advance(days=7)
    await press.tenant.published(title="Too new")
    press.world.clock.advance(days=6)
    await run(press)
    await run(press)
    [letter] = press.postbox.letters
    assert "First week" in body(letter)
    assert "Too new" not in body(letter)
    press.world.clock.advance(days=1)
    await run(press)
    assert "Too new" in body(press.postbox.letters[1])
    assert "First week" not in body(press.postbox.letters[1])


async def test_two_processes_make_one_digest(press: Press) -> None:
    await press.readers(5)
    due = (await turn_on(press))["digest_at"]
    await press.tenant.published(title="Low tide")
    go_to(press, due)
    await asyncio.gather(*(digests(press).start_due() for _ in range(4)))
    workers = [mailing_worker(press.world.parts) for _ in range(2)]
    await asyncio.gather(*(each.run_due() for each in workers))
    assert len(await made(press)) == 1
    assert len(press.addresses) == len(set(press.addresses)) == 5


async def test_turned_off_before_its_time_nothing_is_sent(press: Press) -> None:
    await press.readers(1)
    main = await turn_on(press)
    await press.tenant.published()
    off = await press.tenant.update("newsletters", main["id"], {"digest": False})
    assert (off["digest_at"], off["digest_since"]) == ("", "")
    go_to(press, main["digest_at"])
    await run(press)
    assert await made(press) == []


async def test_owners_choose_day_and_hour_in_the_admin(press: Press) -> None:
    owner, _ = await staff(press.tenant, "owner")
    await press.tenant.settings(time_zone="Asia/Tokyo")
    path = f"/admin/settings/newsletters/{(await main_of(press))['id']}"
    form = filled((await owner.get(path)).text) | {"digest": "on", "digest_weekday": "sunday"}
    assert (await owner.post(path, form | {"digest_hour": "24"})).status_code == 422
    await owner.follow(await owner.post(path, form | {"digest_hour": "7"}))
    main = await main_of(press)
    assert (main["digest"], main["digest_weekday"], main["digest_hour"]) == (True, "sunday", 7)
    due = clock.from_text(main["digest_at"])
    # 7 in the morning of a Sunday in Tokyo.
    assert (due.weekday(), due.hour) == (5, 22)


@pytest.mark.parametrize(
    ("after", "due"),
    [
        # The clock goes forward in between: the hour stays.
        ("2026-03-27T08:00:00", "2026-04-03T07:00:00"),
        ("2026-03-27T07:59:00", "2026-03-27T08:00:00"),
        ("2026-10-24T00:00:00", "2026-10-30T08:00:00"),
    ],
)
def test_the_hour_is_that_of_the_site(after: str, due: str) -> None:
    newsletter = {"digest_weekday": "friday", "digest_hour": 9}
    moment = datetime.fromisoformat(after).replace(tzinfo=UTC)
    assert next_digest(newsletter, moment, "Europe/Berlin").isoformat() == f"{due}+00:00"


async def test_staff_see_and_try_the_digest_as_it_would_be_sent_now(press: Press) -> None:
    main = await turn_on(press)
    owner, account = await staff(press.tenant, "owner")
    page = f"/admin/settings/newsletters/{main['id']}/digest"
    said = " ".join((await owner.get(page)).text.split())
    assert "There is nothing to send" in said
    due = clock.from_text(main["digest_at"])
    assert f"The next one is due on {due.day} {due:%b %Y}, 09:00." in said
    assert (await owner.get(f"{page}/email")).status_code == 404
    assert "nothing to send" in await owner.follow(await owner.post(page))
    await press.tenant.published(title="For everyone")
    await press.tenant.published(title="For those who pay", visibility="paid")
    press.world.clock.advance(minutes=1)
    for reader, number in (("free", 1), ("paid", 2)):
        assert f"{page}/email?as={reader}" in (await owner.get(f"{page}?as={reader}")).text
        shown = await owner.get(f"{page}/email?as={reader}")
        assert "sandbox" in shown.headers["content-security-policy"]
        assert sum(title in shown.text for title in ("For everyone", "For those who pay")) == number
    await owner.follow(await owner.post(f"{page}?as=free"))
    await press.send()
    [letter] = press.postbox.letters
    assert letter["Subject"] == f"[Test] This week in {main['name']}"
    assert press.addresses == [account.email]
    assert "For those who pay" not in letter.get_body(("html",)).get_content()
    found = await press.world.parts.records.find(mailings, {}, tenant_id=press.tenant.id)
    assert found == [], "a test is no digest"
