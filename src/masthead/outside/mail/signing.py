"""Signs outgoing emails in processes of their own: a signature takes a millisecond or more, and
while it is computed no other thread of this process runs."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from masthead.base.limited_process import LimitedProcess, TookTooLong, Unavailable
from masthead.outside.mail.message import ComposedMail, SigningKey

MAX_PROCESSES: Final = 4
KEY_BITS: Final = 2048
"""Every receiver verifies them; a longer record does not fit into some forms of DNS providers."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    private_key: str = field(repr=False)
    public_key: str
    """The base64 text of the record's `p=`."""


class Signer:
    def __init__(self, processes: int | None = None) -> None:
        number = processes or min(os.cpu_count() or 1, MAX_PROCESSES)
        # The last one that was used comes first, so that a few emails start one process only.
        self._free = [LimitedProcess(signed_in_process) for _ in range(number)]
        self._slots = asyncio.Semaphore(number)

    async def sign(self, mail: ComposedMail) -> ComposedMail:
        """The same email if its domain has no key."""
        if mail.key is None:
            return mail
        async with self._slots:
            process = self._free.pop()
            try:
                content = await asyncio.to_thread(_signed, process, mail.key, mail.content)
            finally:
                self._free.append(process)
        return replace(mail, content=content)


def _signed(process: LimitedProcess, key: SigningKey, content: bytes) -> bytes:
    question = (key.private_key, key.domain, key.selector, content)
    try:
        answer: bytes = process.ask(*question)
    except (Unavailable, TookTooLong):
        # Slower, but no email leaves without its signature.
        return signed_in_process(*question)
    return answer


def signed_in_process(private_key: str, domain: str, selector: str, content: bytes) -> bytes:
    # Imported with the first signature.
    from masthead.outside.mail.dkim_signature import sign

    return sign(private_key, domain, selector, content)


def make_key_pair() -> KeyPair:
    """Takes a second or so; other threads run meanwhile."""
    import base64

    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    key = rsa.generate_private_key(65537, KEY_BITS)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return KeyPair(private.decode(), base64.b64encode(public).decode())
