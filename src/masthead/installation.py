"""What every use of an installation stands on: its database, and the engine over it.

The service builds everything else around it (`app.py`). A command opens this alone, and what it has
no use for is neither loaded nor made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from masthead import clock
from masthead.ai.addresses import under_operator
from masthead.config import private_files
from masthead.config.keyring import KeyRing
from masthead.config.settings import Settings, SettingsError
from masthead.records.engine import FanOut, Records
from masthead.records.versions import is_used
from masthead.records.write.unit import Unit, WrittenEvent
from masthead.schema import registry, tables
from masthead.site.address import Sites
from masthead.site.custom_domain import beside
from masthead.storage.database import Database
from masthead.storage.open import open_database
from masthead.webhooks.collection import with_outbound_rules

# Each of these is a noticeable part of a command's start, and few commands have a use for them.
if TYPE_CHECKING:
    from masthead.media.images import ImagePool
    from masthead.outbound.client import OutboundClient
    from masthead.storage.objects import ObjectStore
    from masthead.webhooks.fanout import Fanout


class Installation:
    def __init__(
        self, settings: Settings, keyring: KeyRing, database: Database, records: Records
    ) -> None:
        self.settings = settings
        self.keyring = keyring
        self.database = database
        self.records = records

    @cached_property
    def objects(self) -> ObjectStore:
        from masthead.storage.objects import open_object_store

        return open_object_store(self.settings.storage_url)

    @cached_property
    def images(self) -> ImagePool:
        from masthead.media.images import ImagePool

        return ImagePool()

    @cached_property
    def sites(self) -> Sites:
        return Sites(self.records, self.settings)

    @cached_property
    def outbound(self) -> OutboundClient:
        """Made and closed inside the running loop."""
        from masthead.outbound.client import OutboundClient

        settings = self.settings
        return OutboundClient(allow=settings.outbound_allow, ca_file=settings.outbound_ca_file)

    async def close(self) -> None:
        made = self.__dict__
        if "outbound" in made:
            await self.outbound.close()
        if "images" in made:
            self.images.close()
        await self.database.close()


async def open_installation(
    settings: Settings,
    now: clock.Clock = clock.now,
    make_fan_out: Callable[[Database], FanOut] | None = None,
) -> Installation:
    """Opens what the settings name. The database must have the current schema already."""
    private_files.protect(settings)
    database = await open_database(settings.database_url)
    try:
        keyring = await _keyring(settings, database)
    except BaseException:
        await database.close()
        raise
    collections = with_outbound_rules(under_operator(registry, settings), settings.outbound_allow)
    collections = beside(collections, settings.base_domain)
    fan_out = (make_fan_out or _FanoutWhenNeeded)(database)
    records = Records(database, collections, tables, keyring, now, fan_out=fan_out)
    return Installation(settings, keyring, database, records)


async def _keyring(settings: Settings, database: Database) -> KeyRing:
    """A first start makes a root secret. A later one must not: with another secret no stored one
    could be read again, and no session or link would be good any more."""
    # Asked twice: a process that started at the same moment makes the file before it writes.
    if settings.lacks_root_secret and await is_used(database) and settings.lacks_root_secret:
        raise SettingsError(
            f"secret.key is missing in {settings.data_dir.absolute()}, although the database is in "
            "use: restore the file from a backup, or set MASTHEAD_SECRET_KEY to what it held."
        )
    return KeyRing([str(secret) for secret in settings.load_root_secrets()])


class _FanoutWhenNeeded:
    """Its statements are dozens, and most commands fire no event."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @cached_property
    def _fanout(self) -> Fanout:
        from masthead.webhooks.fanout import Fanout

        return Fanout(self._database, tables)

    async def __call__(self, unit: Unit, written: Sequence[WrittenEvent]) -> bool:
        return await self._fanout(unit, written)
