"""Which clients reach the sockets of the hosts that were given."""

from __future__ import annotations

import socket

import pytest

from masthead.service.serve.listener import CannotListen, listen

pytestmark = pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")


def reaches(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=120).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    ("hosts", "ipv4", "ipv6"),
    [
        (["127.0.0.1"], True, False),
        (["::1"], False, True),
        (["::"], True, True),
        (["::", "127.0.0.1"], True, True),
        (["0.0.0.0", "::"], True, True),
    ],
)
def test_the_wildcard_of_ipv6_takes_ipv4_too(hosts: list[str], ipv4: bool, ipv6: bool) -> None:
    listeners = listen(*hosts, port=0)
    ports = {each.getsockname()[1] for each in listeners}
    assert len(listeners) == len(hosts)
    assert len(ports) == 1
    port = ports.pop()
    assert (reaches("127.0.0.1", port), reaches("::1", port)) == (ipv4, ipv6)
    for each in listeners:
        each.close()


def test_a_host_that_can_not_be_taken_closes_those_before_it() -> None:
    (taken,) = listen("127.0.0.1", port=0)
    port = taken.getsockname()[1]
    with pytest.raises(CannotListen, match=r"127\.0\.0\.1"):
        listen("::1", "127.0.0.1", port=port)
    assert not reaches("::1", port)
    taken.close()
