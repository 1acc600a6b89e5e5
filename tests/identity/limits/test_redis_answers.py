"""A Redis whose answers are no answers: nobody is counted, and the call can be repeated."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from masthead.base.errors import Unavailable
from masthead.base.ids import TenantId
from masthead.identity.limits.store_redis import RedisLimitStore

WRONG = {
    "no protocol": b"\x00\x9c\xff\r\n",
    "a length that is no number": b"$\x9c\r\n",
    "a number of answers that is none": b"*x\r\n",
    "no number": b":\xff\r\n",
    "an error in no encoding": b"-\xff\xfe\r\n",
    "a boolean that is none": b"#\x9c\r\n",
    "one value for a list": b"+OK\r\n",
    "a number for a list": b":7\r\n",
    "nothing": b"*-1\r\n",
    "too few values": b"*0\r\n",
    "values that are no bytes": b"*2\r\n:1\r\n:2\r\n",
}


@pytest.fixture(params=WRONG)
async def url(request: pytest.FixtureRequest) -> AsyncIterator[str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while block := await reader.read(65_536):
            if b"HELLO" in block:
                writer.write(b"%1\r\n$5\r\nproto\r\n:3\r\n")
            writer.write(b"+OK\r\n" * block.count(b"CLIENT"))
            if b"MGET" in block:
                writer.write(WRONG[request.param])
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_an_answer_that_is_none_is_no_count(url: str) -> None:
    counted = []

    def change(states: Sequence[bytes]) -> tuple[Sequence[bytes], int]:
        counted.append(states)
        return [b"new" for _ in states], len(states)

    store = RedisLimitStore(url)
    with pytest.raises(Unavailable):
        await store.update(TenantId("tenant"), ["one", "two"], change)
    await store.close()
    assert not counted
