"""A receiver with a certificate of our own authority, and clients that may call loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from ipaddress import ip_network

import pytest
from tests.outside.outbound.names import NameServer
from tests.tls import Authority, Receiver

from masthead.outside.outbound.client import OutboundClient

LOOPBACK = (ip_network("127.0.0.0/8"),)


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
async def receiver(authority: Authority) -> AsyncIterator[Receiver]:
    async with Receiver(authority.certificate()) as receiver:
        yield receiver


@pytest.fixture
async def names() -> AsyncIterator[NameServer]:
    async with NameServer() as server:
        yield server


@pytest.fixture
async def client(authority: Authority, names: NameServer) -> AsyncIterator[OutboundClient]:
    """May call 127.0.0.0/8, and resolves names with `names`."""
    client = OutboundClient(allow=LOOPBACK, ca_file=authority.ca_file, lookup=names.lookup)
    yield client
    await client.close()


@pytest.fixture
async def strict_client(authority: Authority, names: NameServer) -> AsyncIterator[OutboundClient]:
    """The default: only global addresses."""
    client = OutboundClient(ca_file=authority.ca_file, lookup=names.lookup)
    yield client
    await client.close()
