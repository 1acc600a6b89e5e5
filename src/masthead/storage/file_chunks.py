"""Files in chunks, read and written in threads, so that the event loop goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from typing import IO, Final

from masthead.storage.cancelling import complete

CHUNK_BYTES: Final = 1024 * 1024


async def chunks_of(file: IO[bytes]) -> AsyncIterator[bytes]:
    while chunk := await complete(asyncio.to_thread(file.read, CHUNK_BYTES)):
        yield chunk


async def write_chunks(chunks: AsyncIterable[bytes], file: IO[bytes]) -> None:
    async for chunk in chunks:
        await asyncio.to_thread(file.write, chunk)
    file.flush()
