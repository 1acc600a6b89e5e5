"""Where a streamed call may connect to, by who has chosen its address."""

from __future__ import annotations

from collections.abc import AsyncIterator
from ipaddress import ip_address, ip_network

import pytest
from tests.tls import Receiver, answer

from masthead.outbound.addresses import Address
from masthead.outbound.errors import Kind, OutboundError
from masthead.outbound.reach import Reach
from masthead.outbound.streams import OutboundStreams


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with Receiver(None, answer(200, b"data: hello\n\n")) as receiver:
        yield receiver


async def read(streams: OutboundStreams, url: str, reach: Reach) -> bytes:
    try:
        async with streams.post(url, b"{}", {}, reach=reach, timeout_seconds=5) as incoming:
            return await incoming.read(5)
    finally:
        await streams.close()


async def test_the_operators_address_may_be_private_and_plain(receiver: Receiver) -> None:
    assert await read(OutboundStreams(), receiver.url(), Reach.OPERATOR) == b"data: hello\n\n"


async def test_a_listed_network_may_be_called(receiver: Receiver) -> None:
    streams = OutboundStreams(allow=[ip_network("127.0.0.0/8")])
    assert await read(streams, receiver.url(), Reach.LISTED) == b"data: hello\n\n"


@pytest.mark.parametrize("reach", [Reach.LISTED, Reach.PUBLIC])
async def test_other_private_addresses_are_refused(receiver: Receiver, reach: Reach) -> None:
    streams = OutboundStreams(allow=[ip_network("10.0.0.0/8")])
    with pytest.raises(OutboundError) as refused:
        await read(streams, receiver.url(), reach)
    assert refused.value.kind is Kind.REFUSED_ADDRESS
    assert receiver.connections == 0


async def test_a_public_address_is_not_a_listed_one() -> None:
    streams = OutboundStreams(allow=[ip_network("10.0.0.0/8")])
    with pytest.raises(OutboundError) as refused:
        await read(streams, "https://93.184.215.14/v1", Reach.LISTED)
    assert refused.value.kind is Kind.REFUSED_ADDRESS


async def test_a_known_name_that_points_inside_is_refused(receiver: Receiver) -> None:
    async def inside(_host: str) -> list[Address]:
        return [ip_address("127.0.0.1")]

    streams = OutboundStreams(lookup=inside)
    with pytest.raises(OutboundError) as refused:
        await read(streams, "https://api.openai.com/v1", Reach.PUBLIC)
    assert refused.value.kind is Kind.REFUSED_ADDRESS
