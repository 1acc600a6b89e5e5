"""How large the database is, and how much room its disk has."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import sqlalchemy as sa

from masthead.storage.database import EVERY_TENANT, Database


async def database_bytes(database: Database, sqlite_path: Path | None) -> int:
    """From the sizes of files, which both databases know without reading any row."""
    if sqlite_path is not None:
        return await asyncio.to_thread(_file_bytes, sqlite_path)
    size = sa.func.pg_database_size(sa.func.current_database())
    ((total,),) = await database.fetch(EVERY_TENANT, database.compile(sa.select(size)), ())
    return int(total)


def _file_bytes(path: Path) -> int:
    """With the write-ahead log."""
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(each.stat().st_size for each in files if each.exists())


async def free_bytes(folder: Path) -> int | None:
    """None if the file system does not tell."""
    try:
        found = await asyncio.to_thread(shutil.disk_usage, folder)
    except OSError:
        return None
    return found.free if found.total else None
