"""Changes inputs at random, where no coverage-guided fuzzer is installed."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

_ODD = (b"\x00", b"\xff", b"<", b">", b'"', b"'", b"\\", b"&", b";", b"\r\n", b"{", b"[", b"-1")


def mutated(random: Random, corpus: Sequence[bytes], most: int) -> bytes:
    data = bytearray(random.choice(corpus))
    for _ in range(random.randint(1, 8)):
        at = random.randint(0, len(data))
        length = random.choice((1, 1, 2, 4, 16, 64))
        match random.randrange(6):
            case 0:
                del data[at : at + length]
            case 1:
                data[at:at] = random.choice(_ODD)
            case 2:
                data[at:at] = data[at : at + length] * random.choice((1, 2, 40))
            case 3 if data:
                data[min(at, len(data) - 1)] ^= 1 << random.randrange(8)
            case 4:
                other = random.choice(corpus)
                start = random.randint(0, len(other))
                data[at : at + length] = other[start : start + length]
            case _:
                data[at : at + 1] = bytes([random.randrange(256)])
    return bytes(data[:most])
