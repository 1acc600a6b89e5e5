"""Asks a name server for records that the system's lookup of addresses has no call for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

# Few requests need it, and it takes a quarter of a second to load.
if TYPE_CHECKING:
    from dns.asyncresolver import Resolver

TIMEOUT_SECONDS = 5.0


def _load() -> None:
    from dns import asyncbackend, asyncresolver  # noqa: F401

    asyncbackend.get_backend("asyncio")


class NameServerFailed(Exception):
    """No answer, or none that says whether the records exist."""


class NameServer(msgspec.Struct, frozen=True):
    """The system's name servers, or the one at an IP address and port."""

    address: tuple[str, int] | None = None
    timeout_seconds: float = TIMEOUT_SECONDS

    async def texts(self, name: str) -> list[str]:
        """The TXT records of a name; empty if it has none."""
        return [
            b"".join(record.strings).decode(errors="replace")
            for record in await self._ask(name, "TXT")
        ]

    async def addresses(self, name: str) -> set[str]:
        found: set[str] = set()
        for kind in ("A", "AAAA"):
            found |= {record.to_text() for record in await self._ask(name, kind)}
        return found

    async def _ask(self, name: str, kind: str) -> list[Any]:
        # Not in the event loop, which would answer nothing else meanwhile.
        await asyncio.to_thread(_load)
        from dns.exception import DNSException
        from dns.resolver import NXDOMAIN, NoAnswer

        try:
            # The final dot: a search list of the machine must not be appended.
            return list(await self._resolver().resolve(f"{name}.", kind))
        except (NXDOMAIN, NoAnswer):
            return []
        except (DNSException, OSError, ValueError) as error:
            raise NameServerFailed from error

    def _resolver(self) -> Resolver:
        from dns.asyncresolver import Resolver

        resolver = Resolver(configure=self.address is None)
        if self.address is not None:
            resolver.nameservers = [self.address[0]]
            resolver.port = self.address[1]
        resolver.lifetime = self.timeout_seconds
        return resolver
