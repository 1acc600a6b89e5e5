"""The ids of connections: 40 characters, as PocketBase's. The first ones name the process that has
the connection, the last ones are a signature, so that any process knows an id of ours."""

from __future__ import annotations

import hashlib
import hmac

from masthead.base import ids
from masthead.base.config.keyring import KeyRing

_PURPOSE = "realtime"
_PROCESS = 10
_LENGTH = 40


class ClientIds:
    def __init__(self, keyring: KeyRing) -> None:
        self._keyring = keyring
        self.process = ids.new_id()[:_PROCESS]

    def new(self) -> str:
        named = self.process + ids.new_id()
        return named + _signature(self._keyring.derive(_PURPOSE), named)

    def process_of(self, client_id: str) -> str | None:
        """None for an id that none of our processes has given out."""
        if len(client_id) != _LENGTH or not client_id.isascii():
            return None
        named, signature = client_id[: _PROCESS + ids.LENGTH], client_id[_PROCESS + ids.LENGTH :]
        for key in self._keyring.derive_all(_PURPOSE):
            if hmac.compare_digest(_signature(key, named), signature):
                return client_id[:_PROCESS]
        return None


def _signature(key: bytes, named: str) -> str:
    return hmac.digest(key, named.encode(), hashlib.sha256).hex()[: _LENGTH - _PROCESS - ids.LENGTH]
