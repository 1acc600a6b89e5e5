"""The services that a command opens as well: see `service/installation.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from masthead.base.config.keyring import KeyRing
    from masthead.base.config.settings import Settings
    from masthead.engine.records.engine import Records
    from masthead.features.media.images import ImagePool
    from masthead.outside.outbound.client import OutboundClient
    from masthead.storage.objects import ObjectStore


class SharedServices(Protocol):
    @property
    def settings(self) -> Settings: ...
    @property
    def keyring(self) -> KeyRing: ...
    @property
    def records(self) -> Records: ...
    @property
    def objects(self) -> ObjectStore: ...
    @property
    def images(self) -> ImagePool: ...
    @property
    def outbound(self) -> OutboundClient: ...
