"""Resolves names to addresses that one kind of call may use."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from masthead.base.config.values import Network
from masthead.base.languages.words import staff_marked
from masthead.outside.outbound.addresses import Address
from masthead.outside.outbound.errors import Kind, OutboundError
from masthead.outside.outbound.lookup import Lookup
from masthead.outside.outbound.targets import Rules, allowed_addresses


class CheckedLookup:
    def __init__(
        self, rules: Rules, allow: Sequence[Network], lookup: Lookup, lookup_seconds: float
    ) -> None:
        self.rules = rules
        self._allow = allow
        self._lookup = lookup
        self._lookup_seconds = lookup_seconds

    def check(self, addresses: Sequence[Address], port: int) -> Sequence[Address]:
        return allowed_addresses(addresses, port, self.rules, self._allow)

    async def find(self, host: str, port: int) -> Sequence[Address]:
        """The allowed addresses of a name; raises OutboundError."""
        try:
            async with asyncio.timeout(self._lookup_seconds):
                addresses = await self._lookup(host)
        except TimeoutError as error:
            message = staff_marked("The host name could not be looked up in time.")
            raise OutboundError(Kind.DNS, message) from error
        except OSError:
            addresses = ()
        if not addresses:
            raise OutboundError(Kind.DNS, staff_marked("The host name has no address."))
        return self.check(addresses, port)
