"""The installation that both the service and the commands open: the database, and the engine on it.

The service builds everything else on top (`app.py`). A command opens only this, and whatever the
command does not use is neither imported nor constructed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

from masthead.base import clock
from masthead.base.config import private_files
from masthead.base.config.keyring import KeyRing
from masthead.base.config.settings import Settings, SettingsError
from masthead.engine.audit.entries import log_change
from masthead.engine.records.engine import AsyncValidator, ChangeListener, Records, Subscriber
from masthead.engine.records.versions import is_used
from masthead.engine.records.write.unit import Unit
from masthead.engine.records.write.unit_events import WrittenEvent
from masthead.features.ai.addresses import with_operator_rules
from masthead.features.site.address import Sites, site_url
from masthead.features.site.custom_domain import with_base_domain
from masthead.features.site.design import with_themes
from masthead.features.webhooks.collection import with_outbound_rules
from masthead.service.schema import registry, tables
from masthead.storage.database import Database
from masthead.storage.open import open_database

# Each of these slows a command's start noticeably, and few commands use them.
if TYPE_CHECKING:
    from masthead.features.media.images import ImagePool
    from masthead.features.webhooks.fanout import Fanout
    from masthead.outside.outbound.client import OutboundClient
    from masthead.storage.objects import ObjectStore


class Installation:
    def __init__(
        self, settings: Settings, keyring: KeyRing, database: Database, now: clock.Clock
    ) -> None:
        self.settings = settings
        self.keyring = keyring
        self.database = database
        self._clock = now

    @cached_property
    def records(self) -> Records:
        """The engine of a command."""
        return self.make_records(subscribers=(Subscriber(_LazyFanout(self.database)),))

    def make_records(
        self,
        *,
        subscribers: Sequence[Subscriber],
        on_deliveries_queued: Callable[[], None] | None = None,
        on_changes: ChangeListener | None = None,
        async_validators: Mapping[str, AsyncValidator] | None = None,
    ) -> Records:
        settings = self.settings
        collections = with_outbound_rules(
            with_operator_rules(registry, settings), settings.outbound_allow
        )
        collections = with_themes(collections, settings)
        return Records(
            self.database,
            with_base_domain(collections, settings.base_domain),
            tables,
            self.keyring,
            now=self._clock,
            subscribers=subscribers,
            on_deliveries_queued=on_deliveries_queued,
            on_changes=on_changes,
            async_validators=async_validators,
            observe=log_change,
            origin_of=partial(site_url, settings),
        )

    @cached_property
    def objects(self) -> ObjectStore:
        from masthead.storage.open_objects import open_object_store

        return open_object_store(self.settings.storage_url)

    @cached_property
    def images(self) -> ImagePool:
        from masthead.features.media.images import ImagePool

        return ImagePool()

    @cached_property
    def sites(self) -> Sites:
        return Sites(self.records, self.settings)

    @cached_property
    def outbound(self) -> OutboundClient:
        """Constructed and closed inside the running event loop."""
        from masthead.outside.outbound.client import OutboundClient

        settings = self.settings
        return OutboundClient(allow=settings.outbound_allow, ca_file=settings.outbound_ca_file)

    async def close(self) -> None:
        constructed = self.__dict__
        if "outbound" in constructed:
            await self.outbound.close()
        if "images" in constructed:
            self.images.close()
        await self.database.close()


async def open_installation(settings: Settings, now: clock.Clock = clock.now) -> Installation:
    """Opens what the settings name. The database must have the current schema already."""
    private_files.protect(settings)
    database = await open_database(settings.database_url)
    try:
        keyring = await _keyring(settings, database)
    except BaseException:
        await database.close()
        raise
    return Installation(settings, keyring, database, now)


async def _keyring(settings: Settings, database: Database) -> KeyRing:
    """The first start creates a root secret. A later one must not: with a new root secret no stored
    secret could be decrypted and no session or link would be valid."""
    # Checked twice: a process that starts at the same moment creates the file before it writes.
    if settings.lacks_root_secret and await is_used(database) and settings.lacks_root_secret:
        raise SettingsError(
            f"secret.key is missing in {settings.data_dir.absolute()}, although the database is in "
            "use: restore the file from a backup, or set MASTHEAD_SECRET_KEY to its content."
        )
    return KeyRing([str(secret) for secret in settings.load_root_secrets()])


class _LazyFanout:
    """Compiles its dozens of statements at the first event: most commands fire none."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @cached_property
    def _fanout(self) -> Fanout:
        from masthead.features.webhooks.fanout import Fanout

        return Fanout(self._database, tables)

    async def __call__(self, unit: Unit, written: Sequence[WrittenEvent]) -> bool:
        return await self._fanout(unit, written)
