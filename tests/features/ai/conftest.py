"""A service whose platform has an AI provider on loopback, and tenants with keys of their own."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec import structs
from tests.databases import fresh_url
from tests.features.ai.stream import KEY, PLATFORM_KEY, Answered, read_answer
from tests.tls import Receiver, answer
from tests.world import START, TenantWorld, World, open_world

from masthead.base.config.values import Url
from masthead.features.ai.generation import Timeouts
from masthead.features.ai.open_streams import OpenStreams
from masthead.outside.outbound.streams import OutboundStreams
from masthead.service.app import http_app
from masthead.service.services import Services

ENGINES = ("sqlite", "postgresql")


@pytest.fixture(scope="session")
async def provider_server() -> AsyncIterator[Receiver]:
    async with Receiver(None) as receiver:
        yield receiver


@pytest.fixture
def provider(provider_server: Receiver) -> Receiver:
    provider_server.requests.clear()
    provider_server.default = answer()
    return provider_server


@dataclass
class AiWorld:
    world: World
    provider: Receiver

    @property
    def base_url(self) -> str:
        return self.provider.url("/v1")

    async def tenant(self, **settings: Any) -> TenantWorld:
        """With a key of its own by default."""
        tenant = await self.world.new_tenant("writer")
        await tenant.settings(**{"ai_api_key": KEY} | settings)
        return tenant

    async def ask(
        self,
        tenant: TenantWorld | None = None,
        client: httpx.AsyncClient | None = None,
        **body: Any,
    ) -> Answered:
        client = client or self.world.client(tenant.host if tenant else "localhost")
        async with client:
            return await read_answer(client, body)

    @property
    def open_streams(self) -> OpenStreams:
        return self.world.parts.ai.generator.open_streams

    def with_patience(self, **seconds: float) -> AiWorld:
        """The same world with shorter timeouts."""
        return self._with(timeouts=Timeouts(**seconds))

    def with_outbound(self, streams: OutboundStreams) -> AiWorld:
        """The same world with another outgoing client."""
        return self._with(streams=streams)

    def with_its_own_streams(self) -> AiWorld:
        """The same world, which can be stopped without the others."""
        return self._with(open_streams=OpenStreams())

    def at(self, base_url: str) -> AiWorld:
        """The same world with the platform's AI elsewhere."""
        parts = self.world.parts
        settings = replace(parts.settings, ai_base_url=Url(base_url))
        return AiWorld(
            with_parts(self.world, structs.replace(parts, settings=settings)), self.provider
        )

    def without_platform_key(self) -> AiWorld:
        parts = self.world.parts
        settings = replace(parts.settings, ai_key=None)
        return AiWorld(
            with_parts(self.world, structs.replace(parts, settings=settings)), self.provider
        )

    def _with(self, **changed: Any) -> AiWorld:
        parts = self.world.parts
        ai = structs.replace(parts.ai, generator=structs.replace(parts.ai.generator, **changed))
        return AiWorld(with_parts(self.world, structs.replace(parts, ai=ai)), self.provider)


def with_parts(world: World, parts: Services) -> World:
    hurried = copy.copy(world)
    hurried.parts = parts
    hurried.http = http_app(parts)
    return hurried


async def open_ai_world(engine: str, folder: Path, provider: Receiver) -> World:
    return await open_world(
        fresh_url(engine, folder),
        folder,
        MASTHEAD_AI_PROVIDER="openai",
        MASTHEAD_AI_BASE_URL=provider.url("/v1"),
        MASTHEAD_AI_KEY=PLATFORM_KEY,
        MASTHEAD_AI_MODEL="small-1",
        MASTHEAD_TRUSTED_PROXIES="192.0.2.0/24",
    )


@pytest.fixture(scope="session", params=ENGINES)
async def ai_service(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    provider_server: Receiver,
) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("ai")
    world = await open_ai_world(request.param, folder, provider_server)
    yield world
    await world.parts.close()


@pytest.fixture
def ai(ai_service: World, provider: Receiver) -> AiWorld:
    ai_service.clock.moment = START
    return AiWorld(ai_service, provider)
