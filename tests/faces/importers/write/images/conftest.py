"""A copier of one tenant that may reach loopback, and the old site that it copies from."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from tests.outside.outbound.conftest import LOOPBACK
from tests.outside.outbound.names import NameServer
from tests.tls import Receiver, answer
from tests.world import TenantWorld, World

from masthead.base.config.settings import Settings
from masthead.engine.records.engine import Records
from masthead.faces.importers.write.images.copying import ImageCopier
from masthead.faces.importers.write.previous_imports import PreviousImports
from masthead.features.media.images import ImagePool
from masthead.outside.outbound.client import OutboundClient
from masthead.outside.outbound.downloads import RetryDelays
from masthead.storage.objects import ObjectStore

HASTY = RetryDelays(delays=(0.0, 0.0, 0.0), longest=0.1)


@dataclass(frozen=True)
class Desk:
    """The service's own parts, with a way out that leads to loopback."""

    records: Records
    objects: ObjectStore
    images: ImagePool
    settings: Settings
    outbound: OutboundClient


MakeCopier = Callable[..., ImageCopier]


@pytest.fixture
async def names() -> AsyncIterator[NameServer]:
    async with NameServer() as server:
        yield server


@pytest.fixture
async def old_site() -> AsyncIterator[Receiver]:
    """Has nothing until it is told otherwise."""
    async with Receiver(None, default=answer(404)) as receiver:
        yield receiver


@pytest.fixture
async def make_copier(
    app: World, tenant: TenantWorld, names: NameServer
) -> AsyncIterator[MakeCopier]:
    """A new one for each run of an import."""
    client = OutboundClient(allow=LOOPBACK, lookup=names.lookup)
    strict = OutboundClient(lookup=names.lookup)

    def make(
        tenant: TenantWorld = tenant, *, is_strict: bool = False, **options: Any
    ) -> ImageCopier:
        parts = app.parts
        outbound = strict if is_strict else client
        desk = Desk(parts.records, parts.objects, parts.images, parts.settings, outbound)
        previous = PreviousImports(parts.database, tenant.id)
        return ImageCopier(desk, tenant.id, previous, **{"retry_delays": HASTY} | options)

    yield make
    await client.close()
    await strict.close()
