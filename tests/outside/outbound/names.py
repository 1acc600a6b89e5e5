"""A real name server on loopback whose answers change during a test, and its client."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Self

import dns.asyncresolver
import dns.exception
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset
from dns.rdatatype import RdataType

from masthead.outside.outbound.addresses import Address

_TYPES = {RdataType.A: 4, RdataType.AAAA: 6}


def _quoted(text: str) -> str:
    """A TXT record is of strings of at most 255 bytes."""
    parts = [text[at : at + 255] for at in range(0, len(text), 255)] or [""]
    return " ".join(f'"{each}"' for each in parts)


class NameServer(asyncio.DatagramProtocol):
    """Every name has a list of answers, given one after the other; the last one stays."""

    def __init__(self) -> None:
        self.questions: list[str] = []
        self.is_broken = False
        self._answers: dict[str, deque[list[str]]] = {}
        self._texts: dict[str, list[str]] = {}
        self._transport: asyncio.DatagramTransport | None = None

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(
            lambda: self, local_addr=("127.0.0.1", 0)
        )

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def tell(self, name: str, *answers: Sequence[str]) -> None:
        self._answers[f"{name}."] = deque(list(answer) for answer in answers)

    def tell_text(self, name: str, *values: str) -> None:
        """The TXT records of a name from now on."""
        self._texts[f"{name}."] = list(values)

    @property
    def port(self) -> int:
        assert self._transport is not None
        port: int = self._transport.get_extra_info("sockname")[1]
        return port

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        query = dns.message.from_wire(data)
        question = query.question[0]
        name = question.name.to_text()
        response = dns.message.make_response(query)
        if self.is_broken:
            response.set_rcode(dns.rcode.SERVFAIL)
        elif question.rdtype == RdataType.TXT and name in self._texts:
            quoted = [_quoted(each) for each in self._texts[name]]
            if quoted:
                response.answer.append(dns.rrset.from_text(name, 0, "IN", "TXT", *quoted))
        elif name not in self._answers:
            response.set_rcode(dns.rcode.NXDOMAIN)
        else:
            self._add_answer(response, name, question.rdtype)
        assert self._transport is not None
        self._transport.sendto(response.to_wire(), addr)

    def _add_answer(self, response: dns.message.Message, name: str, kind: RdataType) -> None:
        answers = self._answers[name]
        version = _TYPES.get(kind)
        found = [text for text in answers[0] if ip_address(text).version == version]
        if found:
            response.answer.append(dns.rrset.from_text(name, 0, "IN", kind, *found))
        if kind == RdataType.AAAA:
            # The lookup queries A first and AAAA last, so this is the end of one lookup.
            self.questions.append(name)
            if len(answers) > 1:
                answers.popleft()

    async def lookup(self, host: str) -> Sequence[Address]:
        """A `Lookup` for the client, over the wire and without any cache."""
        resolver = dns.asyncresolver.Resolver(configure=False)
        resolver.nameservers = ["127.0.0.1"]
        resolver.port = self.port
        found: list[Address] = []
        try:
            for kind in ("A", "AAAA"):
                answer = await resolver.resolve(
                    f"{host.removesuffix('.')}.", kind, raise_on_no_answer=False
                )
                found += [ip_address(record.to_text()) for record in answer.rrset or ()]
        except dns.exception.DNSException as error:
            raise OSError(str(error)) from error
        return found
