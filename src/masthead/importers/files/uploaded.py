"""The file of an import that was uploaded."""

from __future__ import annotations

import asyncio
from pathlib import Path

from masthead.errors import NotFound
from masthead.storage.objects import ObjectStore


async def fetch(objects: ObjectStore, key: str, path: Path) -> None:
    try:
        stored = await objects.get(key)
    except NotFound as error:
        raise NotFound("The uploaded file is gone. Upload it again.") from error
    with path.open("wb") as file:
        async for chunk in stored.chunks:
            await asyncio.to_thread(file.write, chunk)
