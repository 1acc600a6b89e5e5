"""A failing provider, a disconnected client, a stopping service: the stream ends properly."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import httpx
import pytest
from tests.features.ai.conftest import AiWorld
from tests.features.ai.provider import (
    HEAD,
    PIECES,
    PROVIDERS,
    Hand,
    plays,
    recording,
    repeats,
    stalls_after,
    text_event,
    until,
)
from tests.features.ai.stream import GENERATE, KEY, PATH, failed
from tests.features.ai.usage import usage_of
from tests.log_lines import capture_logs
from tests.loop_time import LoopTime
from tests.served import serving
from tests.tls import Behaviour, Exchange, answer, cut, hang, not_http, redirect
from tests.world import TenantWorld

from masthead.base.caller import system
from masthead.features.ai.accounts import BAD_KEY
from masthead.features.ai.addresses import NOT_ALLOWED
from masthead.features.ai.generation import UNREACHABLE, Timeouts
from masthead.features.site.collection import site_settings
from masthead.outside.outbound.addresses import Address
from masthead.outside.outbound.streams import OutboundStreams

BEGUN = [{"text": piece} for piece in PIECES[:2]]
LIMITS = Timeouts()

OVERLOADED = {
    "openai": b'data: {"error":{"message":"busy: sk-tenant-0123456789abcdef",'
    b'"type":"server_error","code":"overloaded"}}\n\n',
    "anthropic": b"event: error\n"
    b'data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
}
REJECTED = {
    "openai": b'data: {"error":{"message":"no","type":"invalid_request_error"}}\n\n',
    "anthropic": b'data: {"type":"error","error":{"type":"invalid_request_error"}}\n\n',
}
LIMITED = {
    "openai": b'data: {"error":{"message":"slow","code":"rate_limit_exceeded"}}\n\n',
    "anthropic": b'data: {"type":"error","error":{"type":"rate_limit_error"}}\n\n',
}
FILTERED = {
    "openai": b'data: {"choices":[{"delta":{},"finish_reason":"content_filter"}]}\n\n',
    "anthropic": b'data: {"type":"message_delta","delta":{"stop_reason":"refusal"}}\n\n',
}


def begun(name: str) -> bytes:
    """The recording up to its second text."""
    return until(name, "día".encode())


@pytest.mark.parametrize("name", PROVIDERS)
class TestMidStream:
    async def ask(self, ai: AiWorld, name: str, behaviour: Behaviour) -> list[dict[str, object]]:
        tenant = await ai.tenant(ai_provider=name)
        ai.provider.next(behaviour)
        return (await ai.ask(tenant)).events

    async def test_it_hangs(self, ai: AiWorld, name: str, loop_time: LoopTime) -> None:
        stalling = stalls_after(begun(name))
        events = await self.ask(ai, name, loop_time.overlong(stalling, 2 * LIMITS.between_chunks))
        assert events == [*BEGUN, failed("provider_timeout")]

    async def test_it_disconnects(self, ai: AiWorld, name: str) -> None:
        events = await self.ask(ai, name, plays(begun(name), ends=False))
        assert events == [*BEGUN, failed("provider_disconnected")]

    async def test_it_ends_too_early(self, ai: AiWorld, name: str) -> None:
        events = await self.ask(ai, name, plays(begun(name)))
        assert events == [*BEGUN, failed("provider_disconnected")]

    @pytest.mark.parametrize(
        "garbage",
        [
            b"data: {not json\n\n",
            b"data: [1, 2]\n\n",
            b'data: {"id":"\xff"}\n\n',
            b"\xff\xfe\xfd",
            b'data: {"a":' * 60_000,
        ],
    )
    async def test_it_sends_invalid_events(self, ai: AiWorld, name: str, garbage: bytes) -> None:
        events = await self.ask(ai, name, plays(begun(name) + garbage * 3, size=1 << 16))
        assert events[-1] == failed("provider_garbled")

    async def test_it_reports_an_error(self, ai: AiWorld, name: str) -> None:
        events = await self.ask(ai, name, plays(begun(name) + OVERLOADED[name]))
        assert events == [*BEGUN, failed("provider_error")]

    async def test_it_reports_a_permanent_error(self, ai: AiWorld, name: str) -> None:
        events = await self.ask(ai, name, plays(begun(name) + REJECTED[name]))
        assert events == [*BEGUN, failed("provider_error", retryable=False)]

    async def test_it_reports_a_rate_limit(self, ai: AiWorld, name: str) -> None:
        events = await self.ask(ai, name, plays(begun(name) + LIMITED[name]))
        assert events == [*BEGUN, failed("provider_rate_limited")]

    async def test_it_filters_the_content(self, ai: AiWorld, name: str) -> None:
        events = await self.ask(ai, name, plays(begun(name) + FILTERED[name]))
        assert events == [*BEGUN, failed("content_filtered", retryable=False)]

    async def test_it_never_ends(self, ai: AiWorld, name: str, loop_time: LoopTime) -> None:
        endless = repeats(text_event(name, "and "))
        # In steps that are far shorter than a pause may be.
        events = await self.ask(ai, name, loop_time.overlong(endless, LIMITS.total, steps=100))
        assert events[-1] == failed("provider_timeout")
        assert events[0] == {"text": "and "}

    async def test_it_sends_nothing(self, ai: AiWorld, name: str) -> None:
        assert await self.ask(ai, name, plays(b"")) == [failed("empty_answer")]

    async def test_it_finishes_without_text(self, ai: AiWorld, name: str) -> None:
        content = recording(name)
        for piece in PIECES:
            content = content.replace(piece.replace("\n", "\\n").encode(), b"")
        assert await self.ask(ai, name, plays(content)) == [failed("empty_answer")]

    async def test_it_sends_too_much_text(self, ai: AiWorld, name: str) -> None:
        events = await self.ask(ai, name, plays(text_event(name, "a" * 50_000) * 10, size=1 << 20))
        assert events[-1] == failed("answer_too_long", retryable=False)

    async def test_it_sends_events_without_text_forever(self, ai: AiWorld, name: str) -> None:
        comments = b": nothing to say\n\n" * 60_000
        tenant = await ai.tenant(ai_provider=name)
        ai.provider.next(plays(begun(name) + comments * 34, size=1 << 20))
        events = (await ai.ask(tenant)).events
        assert events == [*BEGUN, failed("answer_too_long", retryable=False)]
        await ai.provider.wait_until_idle()

    async def test_it_sends_html(self, ai: AiWorld, name: str) -> None:
        page = answer(200, b"<!doctype html>\n<p>Welcome to nginx</p>\n", Content_Type="text/html")
        assert await self.ask(ai, name, page) == [failed("provider_garbled")]


async def oddly_framed(exchange: Exchange) -> None:
    await exchange.write(b"HTTP/1.1 401 No\r\nTransfer-Encoding: gzip, chunked\r\n\r\n")


async def never(_host: str) -> Sequence[Address]:
    """A lookup that hangs."""
    await asyncio.Event().wait()
    return ()


class TestBeforeTheStream:
    @pytest.mark.parametrize(
        ("behaviour", "words"),
        [
            (answer(401, b'{"error": "bad key sk-tenant-0123456789abcdef"}'), "accept the key"),
            (oddly_framed, "accept the key"),
            (answer(402), "credit"),
            (answer(404), "model"),
            (answer(400), "model"),
            (answer(429, Retry_After="17"), "17 seconds"),
            (answer(429), "rate limit"),
            (answer(500), "not available"),
            (answer(529), "not available"),
            (redirect("https://example.com/"), "not available"),
            (hang, "in time"),
            (cut, "can't be reached"),
            (not_http, "can't be reached"),
        ],
    )
    async def test_the_error_is_sent_in_the_stream(
        self, ai: AiWorld, behaviour: Behaviour, words: str, loop_time: LoopTime
    ) -> None:
        tenant = await ai.tenant()
        if behaviour is hang:
            behaviour = loop_time.overlong(hang, LIMITS.first_byte)
        ai.provider.next(behaviour)
        answered = await ai.ask(tenant)
        (event,) = answered.events
        assert list(event) == ["error"]
        assert words in event["error"]
        assert KEY not in event["error"]

    async def test_a_refused_call_costs_nothing(self, ai: AiWorld) -> None:
        tenant = await ai.tenant()
        ai.provider.next(answer(500))
        await ai.ask(tenant)
        assert await usage_of(ai, tenant.id) == []

    async def test_a_refused_connection(self, ai: AiWorld, unused_tcp_port: int) -> None:
        tenant = await ai.tenant()
        hurried = ai.at(f"http://127.0.0.1:{unused_tcp_port}/v1")
        assert (await hurried.ask(tenant)).events == [
            {"error": "The AI provider can't be reached. Try again later."}
        ]

    async def test_a_connection_that_is_not_accepted_costs_nothing(self, ai: AiWorld) -> None:
        tenant = await ai.tenant()
        streams = OutboundStreams(connect_seconds=0.1)
        with full_listener() as port:
            far_away = ai.at(f"http://127.0.0.1:{port}/v1").with_outbound(streams)
            answered = await far_away.ask(tenant)
        await streams.close()
        assert answered.events == [
            {"error": "The AI provider did not answer in time. Try again later."}
        ]
        assert await usage_of(ai, tenant.id) == []

    async def test_a_hanging_lookup_costs_nothing(self, ai: AiWorld) -> None:
        tenant = await ai.tenant()
        streams = OutboundStreams(lookup=never, connect_seconds=0.1)
        nowhere = ai.at("http://provider.test/v1").with_outbound(streams)
        assert (await nowhere.ask(tenant)).events == [{"error": UNREACHABLE}]
        await streams.close()
        assert await usage_of(ai, tenant.id) == []

    async def test_a_client_that_disconnects_during_the_lookup_costs_nothing(
        self, ai: AiWorld
    ) -> None:
        tenant = await ai.tenant()
        asked = asyncio.Event()

        async def note(host: str) -> Sequence[Address]:
            asked.set()
            return await never(host)

        streams = OutboundStreams(lookup=note)
        nowhere = ai.at("http://provider.test/v1").with_outbound(streams).with_its_own_streams()
        with capture_logs() as lines:
            async with serving(nowhere.world.http) as url, httpx.AsyncClient(timeout=120) as client:
                headers = {"host": tenant.host}
                async with client.stream("POST", url + PATH, json=GENERATE, headers=headers):
                    await asked.wait()
                while not lines:
                    await asyncio.sleep(0.01)
        await streams.close()
        assert [(line["outcome"], line["amount_in"]) for line in lines] == [("abandoned", 0)]
        assert await usage_of(ai, tenant.id) == []

    @pytest.mark.parametrize(
        "address",
        [
            "https://example.com/v1",
            "http://127.0.0.1:1/v1",
            "https://api.openai.com.evil.example/v1",
            "http://169.254.169.254/latest",
        ],
    )
    async def test_a_url_that_is_no_longer_allowed_is_not_called(
        self, ai: AiWorld, address: str
    ) -> None:
        tenant = await ai.tenant()
        await save_under_another_list(ai, tenant, address)
        answered = await ai.ask(tenant)
        assert answered.events == [{"error": NOT_ALLOWED}]
        assert ai.provider.requests == []


@contextmanager
def full_listener() -> Iterator[int]:
    """A port with a full backlog."""
    with socket.socket() as listener, ExitStack() as waiting:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            caller = waiting.enter_context(socket.socket())
            caller.setblocking(False)
            caller.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


async def save_under_another_list(ai: AiWorld, tenant: TenantWorld, address: str) -> None:
    """As it was saved when the operator still allowed it."""
    records = ai.world.parts.records
    (site,) = await records.find(site_settings, {}, tenant_id=tenant.id)
    await records.update(system(tenant.id), site_settings, site["id"], {"ai_base_url": address})


class TestTheClientLeaves:
    @pytest.mark.parametrize("has_begun", [True, False])
    async def test_the_providers_call_ends_within_a_second(
        self, ai: AiWorld, has_begun: bool, loop_time: LoopTime
    ) -> None:
        tenant = await ai.tenant(ai_provider="openai")
        hand = Hand()
        ai.provider.next(hand)
        async with serving(ai.world.http) as url, httpx.AsyncClient(timeout=120) as client:
            asking = client.stream("POST", url + PATH, json=GENERATE, headers={"host": tenant.host})
            async with asking as response:
                if has_begun:
                    await hand.send(text_event("openai", "Once"))
                    assert "Once" in await anext(response.aiter_lines())
                else:
                    await hand.connected.wait()
            with loop_time.at_most(1.0):
                await hand.hung_up.wait()
            while not await usage_of(ai, tenant.id):
                await asyncio.sleep(0.01)
        ((_, _, calls, tokens_in, tokens_out),) = await usage_of(ai, tenant.id)
        assert calls == 1
        assert isinstance(tokens_in, int)
        assert tokens_in > 100
        assert tokens_out == (1 if has_begun else 0)

    async def test_before_the_provider_has_answered(self, ai: AiWorld, loop_time: LoopTime) -> None:
        tenant = await ai.tenant()
        hung_up = asyncio.Event()

        async def wait(exchange: Exchange) -> None:
            await exchange.reader.read()
            hung_up.set()
            exchange.close()

        ai.provider.next(wait)
        async with serving(ai.world.http) as url, httpx.AsyncClient(timeout=120) as client:
            headers = {"host": tenant.host}
            async with client.stream("POST", url + PATH, json=GENERATE, headers=headers):
                await ai.provider.wait_for(1)
            with loop_time.at_most(1.0):
                await hung_up.wait()


class TestTheServiceStops:
    async def test_open_streams_end_with_a_last_event(self, ai: AiWorld) -> None:
        closing = ai.with_its_own_streams()
        tenant = await ai.tenant(ai_provider="openai")
        hand = Hand()
        ai.provider.next(hand)
        asking = asyncio.create_task(closing.ask(tenant))
        await hand.send(text_event("openai", "Once"))
        while not len(closing.open_streams):
            await asyncio.sleep(0)
        await ai.provider.wait_for(1)
        with capture_logs() as lines:
            closing.open_streams.close()
            answered = await asyncio.wait_for(asking, 120)
        assert answered.last == failed("service_stopping")
        assert [line["outcome"] for line in lines] == ["service_stopping"]
        await asyncio.wait_for(hand.hung_up.wait(), 120)
        assert len(closing.open_streams) == 0

    async def test_new_streams_end_at_once(self, ai: AiWorld) -> None:
        closing = ai.with_its_own_streams()
        closing.open_streams.close()
        answered = await closing.ask(await ai.tenant())
        assert answered.events == [failed("service_stopping")]


@pytest.mark.parametrize("tail", ["\n\nsecond: line", "\r", "\x7f"])
async def test_a_key_that_is_no_valid_header_is_reported(ai: AiWorld, tail: str) -> None:
    tenant = await ai.tenant(ai_api_key=KEY + tail)
    assert (await ai.ask(tenant)).events == [{"error": BAD_KEY}]
    assert ai.provider.requests == []
    assert await usage_of(ai, tenant.id) == []


async def test_the_key_is_in_no_log(ai: AiWorld) -> None:
    tenant = await ai.tenant(ai_provider="openai")
    with capture_logs() as lines:
        for behaviour in (
            plays(recording("openai")),
            plays(OVERLOADED["openai"]),
            answer(401),
            cut,
        ):
            ai.provider.next(behaviour)
            await ai.ask(tenant)
    assert {line["event"] for line in lines} == {"ai.generated"}
    assert [line["outcome"] for line in lines] == [
        "finished",
        "provider_error",
        "refused",
        "refused",
    ]
    assert KEY not in repr(lines)


async def test_headers_alone_are_no_answer(ai: AiWorld) -> None:
    async def only_head(exchange: Exchange) -> None:
        await exchange.write(HEAD)
        exchange.abort()

    tenant = await ai.tenant()
    ai.provider.next(only_head)
    assert (await ai.ask(tenant)).events == [failed("provider_disconnected")]
