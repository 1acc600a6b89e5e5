"""The card of a pasted address: its title and its picture, fetched once, through the guarded
client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from tests.databases import fresh_url
from tests.faces.admin.editor.test_calls import Script, script_of
from tests.features.media.pictures import picture
from tests.tls import Receiver, answer, redirect
from tests.world import TenantWorld, open_world, records_of

PAGE = (
    b'<html><head><title>No</title><meta content="Fog &amp; mist" property="og:title">'
    b"<meta name='description' content='What a horn says'>"
    b'<meta property="og:image" content="/horn.png"></head><body>' + b"<p>x</p>" * 100_000
)


@dataclass
class Desk:
    script: Script
    elsewhere: Receiver
    tenant: TenantWorld

    async def asks(self, url: str) -> dict[str, object]:
        found = await self.script.call("/admin/cards", {"url": url})
        assert found.status_code == 200, found.text
        said: dict[str, object] = found.json()
        return said

    async def media(self) -> int:
        api = self.script.browser.api
        return int((await api.get(records_of("media"))).json()["totalItems"])


@pytest.fixture(scope="module")
async def desk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desk]:
    folder = tmp_path_factory.mktemp("cards")
    async with Receiver(None, default=answer(404)) as elsewhere:
        world = await open_world(
            fresh_url("sqlite", folder), folder, MASTHEAD_OUTBOUND_ALLOW="127.0.0.0/8"
        )
        tenant = await world.new_tenant("demo")
        yield Desk(await script_of(tenant, "author"), elsewhere, tenant)
        await world.parts.close()


async def test_a_page_is_a_bookmark_with_a_copy_of_its_picture(desk: Desk) -> None:
    desk.elsewhere.at("/fog", redirect("/fog/"))
    desk.elsewhere.at("/fog/", answer(200, PAGE, Content_Type="text/html; charset=utf-8"))
    desk.elsewhere.at("/horn.png", answer(200, picture("PNG"), Content_Type="image/png"))
    url = desk.elsewhere.url("/fog")
    found = await desk.asks(url)
    assert found["type"] == "bookmark"
    attributes = found["attrs"]
    assert isinstance(attributes, dict)
    image = attributes.pop("image")
    assert "/media/" in image
    assert attributes == {"url": url, "title": "Fog & mist", "description": "What a horn says"}
    assert await desk.media() == 1
    # The same picture again is the same file.
    assert (await desk.asks(url))["attrs"] == {**attributes, "image": image}
    assert await desk.media() == 1


async def test_where_nothing_can_be_fetched_the_card_has_its_address(desk: Desk) -> None:
    before = await desk.media()
    desk.elsewhere.at("/odd", answer(200, b"\xff<meta property=og:image content=/x.png>"))
    desk.elsewhere.at("/x.png", answer(200, b"<html>", Content_Type="image/png"))
    for number, name in enumerate(("undefined", "idna", "hex")):
        odd = f"text/html; charset={name}"
        desk.elsewhere.at(f"/odd{number}", answer(200, b"<p>\xff", Content_Type=odd))
    for url in (
        desk.elsewhere.url("/gone"),
        *(desk.elsewhere.url(f"/odd{number}") for number in range(3)),
        desk.elsewhere.url("/odd"),
        "https://nowhere.invalid/",
        "http://[::1",
        "http://10.0.0.1/inside",
    ):
        if url == "http://[::1":
            assert (await desk.script.call("/admin/cards", {"url": url})).status_code in (200, 400)
            continue
        assert await desk.asks(url) == {"type": "bookmark", "attrs": {"url": url}}
    found = await desk.asks("https://social.invalid/@ada/109876543210987654")
    assert found["type"] == "embed"
    assert await desk.media() == before


@pytest.mark.parametrize(
    ("encoding", "page", "title"),
    [
        ("utf-8", "<title>Möwe</title>".encode(), "Möwe"),
        ("windows-1252", "<title>Möwe…</title>".encode("cp1252"), "Möwe…"),
        ("Shift_JIS", "<title>灯台</title>".encode("shift_jis"), "灯台"),
        ("gb2312", "<title>灯塔</title>".encode("gb2312"), "灯塔"),
        ("UTF-16", "<title>Möwe</title>".encode("utf-16"), "Möwe"),
        # They make half a character, which no JSON can hold.
        ("utf-7", b"<title>Gull+2AA-</title>", "Gull+2AA-"),
        ("unicode_escape", rb"<title>Gull\ud800</title>", r"Gull\ud800"),
        # This one would take minutes.
        ("punycode", b"<title>Gull</title>-" + b"a" * 400_000, "Gull"),
    ],
)
async def test_a_page_is_read_in_the_encodings_of_the_web(
    desk: Desk, encoding: str, page: bytes, title: str
) -> None:
    declared = f"text/html; charset={encoding}"
    desk.elsewhere.at(f"/in-{encoding}", answer(200, page, Content_Type=declared))
    url = desk.elsewhere.url(f"/in-{encoding}")
    assert (await desk.asks(url))["attrs"] == {"url": url, "title": title}


async def test_who_is_refused(desk: Desk) -> None:
    for body in ({}, {"url": 7}, {"url": "javascript:alert(1)"}, {"url": "file:///etc/passwd"}):
        assert (await desk.script.call("/admin/cards", body)).status_code == 400
    body = {"url": desk.elsewhere.url("/fog")}
    refused = await desk.script.call("/admin/cards", body, **{"x-form-token": "no"})
    assert refused.status_code == 403
    answered = await desk.tenant.guest.post("/admin/cards", json=body)
    assert answered.status_code in (401, 403)
