"""Downloads of pictures that an imported document names."""

from __future__ import annotations

import pytest
from tests.loop_time import LoopTime
from tests.outside.outbound.conftest import LOOPBACK
from tests.outside.outbound.names import NameServer
from tests.tls import (
    Authority,
    Behaviour,
    Receiver,
    answer,
    cut_mid_answer,
    drip,
    flood,
    hang,
    redirect,
)

from masthead.outside.outbound.client import OutboundClient
from masthead.outside.outbound.errors import Kind, OutboundError

PICTURE = b"\x89PNG\r\n\x1a\n" + b"p" * 200_000


async def fetch(
    client: OutboundClient, url: str, max_bytes: int = 10**6, timeout_seconds: float = 10.0
) -> tuple[str, str, bytes]:
    async with client.download(url, max_bytes=max_bytes, timeout_seconds=timeout_seconds) as got:
        content = b"".join([chunk async for chunk in got.chunks])
        return got.url, got.content_type, content


async def failure(
    client: OutboundClient, url: str, max_bytes: int = 10**6, timeout_seconds: float = 10.0
) -> Kind:
    with pytest.raises(OutboundError) as raised:
        await fetch(client, url, max_bytes, timeout_seconds)
    return raised.value.kind


async def test_a_picture(client: OutboundClient, receiver: Receiver) -> None:
    receiver.next(answer(200, PICTURE, Content_Type="image/png"))
    url = receiver.url("/a.png")
    assert await fetch(client, url) == (url, "image/png", PICTURE)
    (request,) = receiver.requests
    assert (request.method, request.headers["accept"]) == ("GET", "image/*")
    assert request.headers["accept-encoding"] == "identity"


async def test_over_plain_http(client: OutboundClient) -> None:
    async with Receiver(None) as receiver:
        receiver.next(answer(200, PICTURE))
        assert (await fetch(client, receiver.url("/a.png")))[2] == PICTURE


async def test_redirects_are_followed(client: OutboundClient, receiver: Receiver) -> None:
    receiver.at("/old.png", redirect("/newer.png", 302))
    receiver.at("/newer.png", redirect(receiver.url("/new.png"), 308))
    receiver.at("/new.png", answer(200, PICTURE))
    url, _, content = await fetch(client, receiver.url("/old.png"))
    assert (url, content) == (receiver.url("/new.png"), PICTURE)


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/",
        "https://[::1]/",
        "http://2130706433/",
        "https://inside.hooks.test/",
        "http://user@one.hooks.test/",
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
    ],
)
async def test_every_hop_is_checked(
    client: OutboundClient, receiver: Receiver, names: NameServer, location: str
) -> None:
    names.tell("inside.hooks.test", ["192.168.0.1"])
    receiver.next(redirect(location))
    assert await failure(client, receiver.url("/a.png")) is Kind.REFUSED_ADDRESS


async def test_a_redirect_without_a_valid_url(client: OutboundClient, receiver: Receiver) -> None:
    receiver.next(answer(301), redirect("https://[::1"))
    for _ in range(2):
        assert await failure(client, receiver.url("/a.png")) is Kind.PROTOCOL


async def test_a_redirect_loop_ends(client: OutboundClient, receiver: Receiver) -> None:
    receiver.default = redirect("/again")
    assert await failure(client, receiver.url("/a.png")) is Kind.PROTOCOL
    assert len(receiver.requests) == 6


@pytest.mark.parametrize("status", [204, 206, 304, 403, 404, 410, 500])
async def test_only_200_is_a_download(
    client: OutboundClient, receiver: Receiver, status: int
) -> None:
    receiver.next(answer(status))
    assert await failure(client, receiver.url("/a.png")) is Kind.STATUS


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [
        (flood(), Kind.TOO_LARGE),
        (flood(is_declared=False), Kind.TOO_LARGE),
        (cut_mid_answer, Kind.PROTOCOL),
        (drip(0.05), Kind.TOO_LARGE),
    ],
    ids=["flood", "undeclared_flood", "cut", "drip"],
)
async def test_failures(
    client: OutboundClient, receiver: Receiver, behaviour: Behaviour, kind: Kind
) -> None:
    receiver.default = behaviour
    url = receiver.url("/a.png")
    assert await failure(client, url) is kind
    await receiver.wait_until_idle()


@pytest.mark.parametrize("behaviour", [hang, drip(0.1)], ids=["hang", "drip"])
async def test_a_slow_download_times_out(
    client: OutboundClient, receiver: Receiver, behaviour: Behaviour, loop_time: LoopTime
) -> None:
    receiver.next(loop_time.overlong(behaviour, 10.0))
    url = receiver.url("/a.png")
    assert await failure(client, url, 2 * 1024**3, timeout_seconds=10.0) is Kind.TIMEOUT
    await receiver.wait_until_idle()


async def test_a_picture_of_exactly_the_allowed_size(
    client: OutboundClient, receiver: Receiver
) -> None:
    receiver.default = answer(200, PICTURE)
    url = receiver.url("/a.png")
    assert len((await fetch(client, url, len(PICTURE)))[2]) == len(PICTURE)
    assert await failure(client, url, len(PICTURE) - 1) is Kind.TOO_LARGE


async def test_an_error_of_the_downloads_consumer_is_not_translated(
    client: OutboundClient, receiver: Receiver
) -> None:
    receiver.next(answer(200, PICTURE))
    with pytest.raises(OSError, match="disk full"):
        async with client.download(receiver.url("/a.png"), max_bytes=10**6):
            raise OSError("disk full")


async def test_webhooks_do_not_wait_for_downloads(receiver: Receiver, authority: Authority) -> None:
    client = OutboundClient(allow=LOOPBACK, ca_file=authority.ca_file, calls_per_host=1)
    receiver.at("/a.png", answer(200, PICTURE))
    async with client.download(receiver.url("/a.png"), max_bytes=10**6):
        assert (await client.post(receiver.url(), b"{}", {})).status == 200
    await client.close()
