"""The ids of connections: 40 characters, as PocketBase's. The first ones name the process that has
the connection, the last ones are a signature, so that any process knows an id of ours."""

from __future__ import annotations

from masthead.base import ids
from masthead.base.config.keyring import KeyRing
from masthead.base.config.tokens import is_signed, sign

_PURPOSE = "realtime"
_PROCESS = 10
_LENGTH = 40
_SIGNATURE = _LENGTH - _PROCESS - ids.LENGTH


class ClientIds:
    def __init__(self, keyring: KeyRing) -> None:
        self._keyring = keyring
        self.process = ids.new_id()[:_PROCESS]

    def new(self) -> str:
        named = self.process + ids.new_id()
        return named + sign(self._keyring, _PURPOSE, named, length=_SIGNATURE)

    def process_of(self, client_id: str) -> str | None:
        """None for an id that none of our processes has given out."""
        if len(client_id) != _LENGTH or not client_id.isascii():
            return None
        named, signature = client_id[: _PROCESS + ids.LENGTH], client_id[_PROCESS + ids.LENGTH :]
        is_ours = is_signed(self._keyring, _PURPOSE, named, signature, length=_SIGNATURE)
        return client_id[:_PROCESS] if is_ours else None
