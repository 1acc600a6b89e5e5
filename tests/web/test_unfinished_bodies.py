"""Guests who begin a body and don't end it: what every route reads of it, by its policy, and what
the process and a network may hold."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.loop_time import LoopTime
from tests.web.test_policies import actions_of, every_route, path_of
from tests.world import TenantWorld, World

from masthead.base.counters import BODIES_REFUSED
from masthead.base.errors import RateLimited, Unavailable
from masthead.web import arriving
from masthead.web.arriving import NETWORK_BODIES, NETWORK_BYTES, held_bytes
from masthead.web.asgi import Message
from masthead.web.bodies import body_chunks, read_body
from masthead.web.policy import BodyKind, Origin, Policy, Who
from masthead.web.request import Request

CHUNK = b"x" * 16_384
BOUNDARY = "boundary"
PART = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'.encode()
KINDS = {
    BodyKind.JSON: ("application/json", b'{"a": "'),
    BodyKind.FORM: ("application/x-www-form-urlencoded", b"a="),
    BodyKind.FILES: (f"multipart/form-data; boundary={BOUNDARY}", PART),
    BodyKind.RAW: ("application/octet-stream", b""),
}


class Endless:
    """A body without an end, and how much of it was read."""

    def __init__(self, start: bytes) -> None:
        self.start = start
        self.taken = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.start
        while True:
            self.taken += len(CHUNK)
            yield CHUNK


def bytes_of_a_guest(policy: Policy) -> int:
    """Returns how many bytes the policy lets a route read of a guest."""
    if policy.body is None or policy.needs_key:
        return 0
    if policy.is_for_staff and (
        policy.origin is not Origin.FORM or policy.body.kind is BodyKind.FILES
    ):
        return 0
    return min(policy.body.limit, policy.body.readers)


async def test_no_route_reads_more_of_a_guest_than_its_policy_says(
    app: World, tenant: TenantWorld
) -> None:
    walked = 0
    for route, method, policy in actions_of(await every_route(app)):
        if method in ("GET", "HEAD", "OPTIONS"):
            continue
        kind = policy.body.kind if policy.body else BodyKind.JSON
        content_type, start = KINDS[kind]
        named = ("posts", "blog_members") if "{collection}" in route.path else (tenant.slug,)
        for record_id in named:
            body = Endless(start)
            origin = {"origin": f"http://{tenant.host}", "content-type": content_type}
            answer = await tenant.guest.request(
                "POST" if method == "*" else method,
                path_of(route, record_id),
                content=body.__aiter__(),
                headers=origin,
            )
            case = (method, route.path, record_id, answer.status_code)
            # A service without AI says so in a stream, whatever is asked.
            is_refused = 300 <= answer.status_code < 500 or "AI is not configured" in answer.text
            assert is_refused, case
            # The chunk that is too much is read.
            assert body.taken <= bytes_of_a_guest(policy) + 2 * len(CHUNK), case
            if bytes_of_a_guest(policy) == 0:
                assert body.taken == 0, case
            walked += 1
    assert walked > 150
    assert held_bytes() == 0


async def test_no_policy_lets_a_guest_send_more_than_64_kib_without_a_reason(app: World) -> None:
    large = {
        f"{method} {route.path}": bytes_of_a_guest(policy)
        for route, method, policy in actions_of(await every_route(app))
        if not policy.is_for_staff and bytes_of_a_guest(policy) > 64 * 1024
    }
    # The text of an article with every character escaped; proofs that are in the body.
    assert large == {
        "POST /api/ai/generate": 512 * 1024,
        "POST /api/mail/events/{source}": 1024 * 1024,
        "POST /api/member-webhook/{slug}": 1024 * 1024,
        "POST /api/payment/webhook": 1024 * 1024,
    }


async def test_what_a_route_takes_of_staff_is_in_its_policy_too(app: World) -> None:
    for route, _, policy in actions_of(await every_route(app)):
        if policy.who is Who.KEY and policy.body:
            assert policy.body.limit <= NETWORK_BYTES, route.path


class Sender:
    """A client that sends one chunk after the other, and never the last."""

    def __init__(self, *chunks: bytes) -> None:
        self.chunks = [*chunks]

    async def __call__(self) -> Message:
        if not self.chunks:
            await asyncio.Future()
        return {"type": "http.request", "body": self.chunks.pop(0), "more_body": True}


def from_address(address: str, *chunks: bytes) -> Request:
    scope = {"type": "http", "headers": []}
    return Request(scope, Sender(*chunks), address=address)


async def held_by(request: Request, limit: int = 10**9) -> bytes:
    return await read_body(request.scope, request.receive, limit=limit)


async def waiting(*requests: Request) -> list[asyncio.Task[bytes]]:
    """Reads the bodies as far as they have come."""
    tasks = [asyncio.create_task(held_by(each)) for each in requests]
    for each in requests:
        sender = each.receive
        assert isinstance(sender, Sender)
        while sender.chunks:
            await asyncio.sleep(0)
    await asyncio.sleep(0)
    return tasks


async def end(tasks: list[asyncio.Task[bytes]], *requests: Request) -> None:
    for each in tasks:
        each.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for request in requests:
        await request.resources.aclose()
    assert held_bytes() == 0


async def test_the_bytes_of_a_network_are_bounded_and_another_network_sends_on() -> None:
    half = b"x" * (NETWORK_BYTES // 2)
    # Two addresses of one IPv6 network.
    first, second, third = (
        from_address(address, half, b"")
        for address in ("2001:db8::1", "2001:db8::2", "2001:db8::3")
    )
    tasks = await waiting(first, second)
    assert held_bytes() == NETWORK_BYTES
    with pytest.raises(RateLimited):
        await held_by(third)
    other = from_address("2001:db8:0:1::1", b"some")
    tasks += await waiting(other)
    assert held_bytes() == NETWORK_BYTES + 4
    await end(tasks, first, second, third, other)


async def test_the_bytes_of_the_process_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arriving, "PROCESS_BYTES", 100)
    requests = [from_address(f"203.0.113.{n}", b"x" * 50) for n in range(3)]
    tasks = await waiting(*requests[:2])
    with pytest.raises(Unavailable):
        await held_by(requests[2])
    await end(tasks, *requests)


async def test_bytes_are_held_until_the_request_is_answered() -> None:
    request = from_address("203.0.113.9", b"x" * 1_000, b"y")
    request.receive = Whole(b"x" * 1_000, b"y")
    assert len(await held_by(request)) == 1_001
    assert held_bytes() == 1_000
    await request.resources.aclose()
    assert held_bytes() == 0


class Whole(Sender):
    async def __call__(self) -> Message:
        message = await super().__call__()
        return {**message, "more_body": bool(self.chunks)}


async def test_an_upload_holds_what_is_in_memory_and_not_what_is_on_disk() -> None:
    request = from_address("203.0.113.9")
    request.receive = Whole(*[b"x" * 1_000] * 50)
    chunks = body_chunks(request.scope, request.receive, limit=10**6, in_memory=3_000)
    assert sum([len(chunk) async for chunk in chunks]) == 50_000
    assert held_bytes() == 3_000
    await request.resources.aclose()


async def test_the_connections_of_a_network_are_bounded(loop_time: LoopTime) -> None:
    before = BODIES_REFUSED.values["network",]
    silent = [from_address("203.0.113.9") for _ in range(NETWORK_BODIES + 5)]
    others = [from_address("198.51.100.7"), from_address("127.0.0.1")]
    tasks = await waiting(*silent, *others)
    await loop_time.advance(2, steps=2)
    refused = [each for each in tasks if each.done()]
    assert len(refused) == 5
    assert all(isinstance(each.exception(), RateLimited) for each in refused)
    # Those that have waited longest.
    assert refused == tasks[:5]
    assert BODIES_REFUSED.values["network",] == before + 5
    await end(tasks[5:])


async def test_this_machine_has_no_limit_of_its_own(loop_time: LoopTime) -> None:
    for address in ("127.0.0.1", "::1", "::ffff:127.0.0.1"):
        silent = [from_address(address) for _ in range(NETWORK_BODIES + 5)]
        tasks = await waiting(*silent)
        await loop_time.advance(2, steps=2)
        assert not any(each.done() for each in tasks)
        await end(tasks)
