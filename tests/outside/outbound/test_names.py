"""Names with private addresses: at once, together with a public one, or only after the check."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Sequence

import pytest
from tests.outside.outbound.conftest import LOOPBACK
from tests.outside.outbound.names import NameServer
from tests.tls import Authority, Receiver, answer

from masthead.outside.outbound import lookup
from masthead.outside.outbound.addresses import Address
from masthead.outside.outbound.client import OutboundClient
from masthead.outside.outbound.errors import Kind, OutboundError
from masthead.outside.outbound.lookup import SystemLookup

NAME = "one.hooks.test"
INSIDE = [
    ["127.0.0.1"],
    ["10.0.0.1"],
    ["169.254.169.254"],
    ["::1"],
    ["fd00:ec2::254"],
    ["::ffff:127.0.0.1"],
    ["64:ff9b::7f00:1"],
    ["8.8.8.8", "127.0.0.1"],
    ["127.0.0.1", "8.8.8.8"],
    ["8.8.8.8", "::1"],
]


async def failure(client: OutboundClient, url: str) -> OutboundError:
    with pytest.raises(OutboundError) as raised:
        await client.post(url, b"{}", {})
    return raised.value


@pytest.mark.parametrize("addresses", INSIDE, ids=" ".join)
async def test_a_name_with_a_private_address_is_refused(
    strict_client: OutboundClient, names: NameServer, addresses: list[str]
) -> None:
    names.tell(NAME, addresses)
    error = await failure(strict_client, f"https://{NAME}/hook")
    assert error.kind is Kind.REFUSED_ADDRESS
    assert not any(address in error.message for address in addresses)
    problem = await strict_client.check_url(f"https://{NAME}/hook")
    assert problem is not None
    assert problem.code == "validation_invalid_url"


async def test_a_name_that_changes_to_a_private_address_after_the_check_is_refused(
    strict_client: OutboundClient, names: NameServer, receiver: Receiver
) -> None:
    names.tell(NAME, ["8.8.8.8"], ["127.0.0.1"])
    assert await strict_client.check_url(f"https://{NAME}/hook") is None
    error = await failure(strict_client, f"https://{NAME}/hook")
    assert error.kind is Kind.REFUSED_ADDRESS
    assert receiver.connections == 0


async def test_a_name_is_resolved_once_for_a_connection(
    client: OutboundClient, names: NameServer, receiver: Receiver
) -> None:
    """A second lookup between check and connect could get another answer."""
    names.tell(NAME, ["127.0.0.1"], ["10.0.0.1"])
    assert (await client.post(receiver.url(host=NAME), b"{}", {})).status == 200
    assert len(names.questions) == 1


async def test_every_new_connection_is_checked_again(
    client: OutboundClient, names: NameServer, receiver: Receiver
) -> None:
    names.tell(NAME, ["127.0.0.1"], ["10.0.0.1"])
    receiver.next(answer(200, Connection="close"))
    assert (await client.post(receiver.url(host=NAME), b"{}", {})).status == 200
    error = await failure(client, receiver.url(host=NAME))
    assert error.kind is Kind.REFUSED_ADDRESS
    assert len(receiver.requests) == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]"])
async def test_an_address_is_refused_when_the_socket_is_opened(
    strict_client: OutboundClient, receiver: Receiver, host: str
) -> None:
    error = await failure(strict_client, f"https://{host}:{receiver.port}/")
    assert error.kind is Kind.REFUSED_ADDRESS
    assert receiver.connections == 0


async def test_a_bad_port_is_allowed_only_on_the_operators_networks(
    strict_client: OutboundClient, client: OutboundClient, names: NameServer, receiver: Receiver
) -> None:
    names.tell("far.hooks.test", ["8.8.8.8"])
    for one in (strict_client, client):
        error = await failure(one, "https://far.hooks.test:6667/")
        assert (error.kind, "port" in error.message) == (Kind.REFUSED_ADDRESS, True)
    assert (await client.post(receiver.url(), b"{}", {})).status == 200


async def test_a_name_without_address(strict_client: OutboundClient) -> None:
    error = await failure(strict_client, "https://nowhere.hooks.test/")
    assert error.kind is Kind.DNS


class TestCheckUrl:
    @pytest.mark.parametrize(
        "url",
        [
            "http://one.hooks.test/",
            "https://user:password@one.hooks.test/",
            "https://one.hooks.test:22/",
            "https://nowhere.hooks.test:22/",
            "https://127.0.0.1/",
            "https://[::1]/",
            "https://2130706433/",
            "https://",
            "not a url",
        ],
    )
    async def test_a_bad_url_is_refused(
        self, strict_client: OutboundClient, names: NameServer, url: str
    ) -> None:
        names.tell(NAME, ["8.8.8.8"])
        problem = await strict_client.check_url(url)
        assert problem is not None
        assert problem.message.endswith(".")

    @pytest.mark.parametrize(
        "url",
        [
            "https://one.hooks.test/",
            "https://one.hooks.test:8443/x?y=z",
            "https://8.8.8.8/",
            "https://nowhere.hooks.test/",
        ],
    )
    async def test_a_good_url_passes(
        self, strict_client: OutboundClient, names: NameServer, url: str
    ) -> None:
        names.tell(NAME, ["8.8.8.8", "2606:4700:4700::1111"])
        assert await strict_client.check_url(url) is None

    async def test_a_url_is_accepted_if_the_name_server_does_not_answer(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def never(_host: str) -> Sequence[Address]:
            return await asyncio.Future()

        monkeypatch.setattr("masthead.outside.outbound.client.CHECK_SECONDS", 0.05)
        client = OutboundClient(lookup=never)
        assert await client.check_url("https://one.hooks.test/") is None
        problem = await client.check_url("https://one.hooks.test:22/")
        assert problem is not None
        assert "port" in problem.message
        await client.close()


class TestSystemLookup:
    async def test_localhost_resolves_to_the_addresses_that_the_operator_listed(
        self, authority: Authority, receiver: Receiver
    ) -> None:
        client = OutboundClient(allow=LOOPBACK, ca_file=authority.ca_file)
        assert (await client.post(receiver.url(host="localhost"), b"{}", {})).status == 200
        await client.close()

    async def test_a_name_that_does_not_exist(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def nothing(_host: str) -> Sequence[Address]:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")

        monkeypatch.setattr(lookup, "addresses_of", nothing)
        client = OutboundClient()
        assert (await failure(client, "https://one.hooks.test/")).kind is Kind.DNS
        await client.close()

    async def test_a_stuck_name_uses_one_thread_and_does_not_delay_others(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        release = threading.Event()
        asked: list[str] = []

        def stuck(host: str) -> Sequence[Address]:
            asked.append(host)
            if host == "stuck":
                release.wait(60)
            return ()

        monkeypatch.setattr(lookup, "addresses_of", stuck)
        find = SystemLookup()
        waiting = [asyncio.create_task(find("stuck")) for _ in range(50)]
        for number in range(50):
            assert await find(f"fine-{number}") == ()
        assert asked.count("stuck") == 1
        release.set()
        assert await asyncio.gather(*waiting) == [()] * 50

    async def test_a_cancelled_caller_does_not_cancel_the_shared_lookup(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        release = threading.Event()

        def slow(_host: str) -> Sequence[Address]:
            release.wait(60)
            return ()

        monkeypatch.setattr(lookup, "addresses_of", slow)
        find = SystemLookup()
        first, second = (asyncio.create_task(find("slow")) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        release.set()
        assert await second == ()

    async def test_closing_does_not_wait_for_a_stuck_name(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        release = threading.Event()

        def stuck(_host: str) -> Sequence[Address]:
            release.wait(600)
            return ()

        monkeypatch.setattr(lookup, "addresses_of", stuck)
        find = SystemLookup()
        waiting = asyncio.create_task(find("stuck"))
        await asyncio.sleep(0)
        try:
            await asyncio.wait_for(find.close(), 120)
            with pytest.raises(asyncio.CancelledError):
                await waiting
        finally:
            release.set()
