"""Opens and clicks are counted only where the newsletter says so, once for each reader, and no link
can be made into a redirect to anywhere else."""

from __future__ import annotations

import re
from email.message import EmailMessage
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from tests.features.mailings.conftest import Press
from tests.outside.mail.offices import text_of

TARGET = "https://elsewhere.example/a?b=1&c=ü"
TEXT = f'<p>See <a href="{TARGET.replace("&", "&amp;")}">this</a>.</p>'


async def count(press: Press, **flags: bool) -> None:
    newsletters = press.world.collection("newsletters")
    (main,) = await press.world.parts.records.find(newsletters, {}, tenant_id=press.tenant.id)
    await press.tenant.update("newsletters", main["id"], flags)


async def mailed(press: Press, readers: int = 2, **flags: bool) -> dict[str, Any]:
    await count(press, **flags)
    await press.readers(readers)
    post = await press.tenant.published(title="Tides", content_html=TEXT)
    mailing = await press.mail(post)
    await press.send()
    return mailing


def links(letter: EmailMessage) -> list[str]:
    found = re.findall(r'<a\b[^>]*?href="([^"]+)"', text_of(letter, "html").replace("\n", " "))
    return [unescape(each) for each in found]


def counted_link(letter: EmailMessage) -> str:
    """Path and query of the one to `TARGET`."""
    (link,) = [each for each in links(letter) if "elsewhere.example" in each]
    parts = urlsplit(link)
    assert parts.path == "/mail/click"
    return f"{parts.path}?{parts.query}"


def pixel(letter: EmailMessage) -> str:
    (address,) = re.findall(r'src="([^"]*/mail/open[^"]*)"', text_of(letter, "html"))
    parts = urlsplit(unescape(address))
    return f"{parts.path}?{parts.query}"


async def test_without_the_setting_nothing_is_counted(press: Press) -> None:
    mailing = await mailed(press, 1)
    (letter,) = press.postbox.letters
    assert "/mail/" not in text_of(letter, "html")
    assert "counts" not in text_of(letter)
    assert TARGET in links(letter)
    state = await press.state(mailing)
    assert (state["opens"], state["clicks"]) == (None, None)


async def test_each_reader_counts_once(press: Press) -> None:
    mailing = await mailed(press, 2, count_opens=True, count_clicks=True)
    first, second = press.postbox.letters
    guest = press.tenant.guest
    for _ in range(2):
        seen = await guest.get(pixel(first))
        assert (seen.status_code, seen.headers["content-type"]) == (200, "image/gif")
        assert seen.headers["cache-control"] == "no-store"
    assert await counts(press, mailing) == (1, 0)
    for _ in range(2):
        led = await guest.get(counted_link(second))
        assert led.status_code == 302
        assert led.headers["location"] == TARGET.replace("ü", "%C3%BC")
        assert led.headers["referrer-policy"] == "no-referrer"
    # Whoever follows a link has opened the email.
    assert await counts(press, mailing) == (2, 1)


async def counts(press: Press, mailing: dict[str, Any]) -> tuple[int | None, int | None]:
    state = await press.state(mailing)
    return state["opens"], state["clicks"]


async def test_only_what_was_chosen(press: Press) -> None:
    mailing = await mailed(press, 1, count_clicks=True)
    (letter,) = press.postbox.letters
    assert "/mail/open" not in text_of(letter, "html")
    await press.tenant.guest.get(counted_link(letter))
    assert await counts(press, mailing) == (None, 1)


async def test_readers_are_told_and_can_leave_without_a_detour(press: Press) -> None:
    await mailed(press, 1, count_opens=True, count_clicks=True)
    (letter,) = press.postbox.letters
    for part in ("plain", "html"):
        told = " ".join(text_of(letter, part).split())
        assert "records whether it is opened and which readers follow its links" in told
    own = [each for each in links(letter) if "/member/" in each]
    assert own
    assert all("/mail/click" not in each for each in own)
    assert "/mail/click" not in str(letter["List-Unsubscribe"])
    # The plain part has the addresses as they are.
    assert "/mail/click" not in text_of(letter)


@pytest.mark.parametrize("change", ["to", "s", "m", "r", "no s"])
async def test_a_link_that_was_changed(press: Press, change: str) -> None:
    """It leads nowhere else, and counts nobody else."""
    mailing = await mailed(press, 1, count_opens=True, count_clicks=True)
    (letter,) = press.postbox.letters
    parts = urlsplit(counted_link(letter))
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    if change == "no s":
        del query["s"]
    else:
        first = "x" if query[change][0] != "x" else "y"
        query[change] = {"to": "https://evil.example/"}.get(change, first + query[change][1:])
    answer = await press.tenant.guest.get(f"{parts.path}?{urlencode(query)}")
    if change in ("m", "r"):
        assert answer.headers["location"].startswith("https://elsewhere.example/")
    else:
        assert answer.status_code == 404
        assert "location" not in answer.headers
    assert await counts(press, mailing) == (0, 0)


async def test_a_link_of_another_site(press: Press) -> None:
    await mailed(press, 1, count_clicks=True)
    (letter,) = press.postbox.letters
    other = await press.world.new_tenant()
    assert (await other.guest.get(counted_link(letter))).status_code == 404


async def test_a_test_email_and_a_preview_are_not_counted(press: Press) -> None:
    await count(press, count_opens=True, count_clicks=True)
    owner = await press.tenant.owner()
    post = await press.tenant.published(title="Tides", content_html=TEXT)
    shown = await owner.api.get(f"/admin/posts/{post['id']}/email")
    assert "/mail/" not in shown.text
