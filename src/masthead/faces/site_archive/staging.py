"""Unpacks the rows of an archive into a temporary database, which checks them before anything is
written: their form, their tenant, their relations. An archive of an older version is brought up to
date there. The import then reads from it, in any order and with little memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Final

from masthead.base.errors import MastheadError
from masthead.engine.records.read.decoding import engine_decoder
from masthead.engine.records.registry import Registry
from masthead.faces.site_archive.header import Contents, DamagedSite
from masthead.faces.site_archive.stored_files import has_files, keys_of
from masthead.faces.site_archive.tables import TENANT, moved_tables
from masthead.features.media.collection import media
from masthead.storage.archives import TABLES, DamagedArchive, TableLayout, entries, read_rows
from masthead.storage.load import BadRows, Inconsistent, open_loading
from masthead.storage.row_lookup import RowLookup
from masthead.storage.snapshot import Snapshot, open_snapshot

MAX_UNPACKED: Final = 100
_FREE_BYTES: Final = 1024**3
"""Rows take at most so many times the bytes of the archive, beyond the first gigabyte."""


class OtherSite(MastheadError):
    message = "The archive holds rows of more than one site. Nothing was imported."


class NoRoom(MastheadError):
    """The message names the folder for temporary files."""


class Staged:
    """The rows of the archive."""

    def __init__(
        self, contents: Contents, snapshot: Snapshot, path: Path, registry: Registry
    ) -> None:
        self.contents = contents
        self.snapshot = snapshot
        self._registry = registry
        self._rows = RowLookup(path)
        self._names = [each.name for each in moved_tables(registry) if each.collection is not None]
        tenant_id = contents.header.tenant_id
        self.is_media: Callable[[str], bool] = lru_cache(10_000)(
            lambda record_id: self._exists(media.name, record_id)
        )
        self.is_known: Callable[[str], bool] = lru_cache(10_000)(
            lambda record_id: (
                record_id == tenant_id or any(self._exists(name, record_id) for name in self._names)
            )
        )

    def _exists(self, table: str, record_id: str) -> bool:
        return (
            self._rows.find(table, ("id",), self.contents.header.tenant_id, record_id) is not None
        )

    def names_file(self, name: str) -> bool:
        """Whether a record names the file `<collection>/<id>/<file>`."""
        collection = self._registry.find(name.partition("/")[0])
        if collection is None or not has_files(collection) or name.count("/") < 2:
            return False
        tenant_id, record_id = self.contents.header.tenant_id, name.split("/")[1]
        decoder = engine_decoder(collection)
        row = self._rows.find(collection.name, decoder.names, tenant_id, record_id)
        if row is None:
            return False
        return f"{tenant_id}/{name}" in keys_of(collection, decoder.record(row))

    def close(self) -> None:
        self._rows.close()


@asynccontextmanager
async def staged_site(path: Path, contents: Contents, registry: Registry) -> AsyncIterator[Staged]:
    """`path` is an archive that `read_site` has checked."""
    with TemporaryDirectory(prefix="masthead-site-") as folder:
        file = Path(folder) / "site.db"
        try:
            await _load(path, contents, file)
        except (Inconsistent, BadRows) as error:
            raise DamagedSite(f"{error} Nothing was imported.") from error
        except OSError as error:
            raise NoRoom(
                f"The archive can't be unpacked in {Path(folder).parent} ({error.strerror}). "
                "Set TMPDIR."
            ) from error
        async with open_snapshot(f"sqlite:///{file}") as snapshot:
            staged = Staged(contents, snapshot, file, registry)
            try:
                yield staged
            finally:
                staged.close()


async def _load(path: Path, contents: Contents, file: Path) -> None:
    header = contents.header
    left = _FREE_BYTES + MAX_UNPACKED * contents.bytes
    async with open_loading(f"sqlite:///{file}", header.revision) as loading:
        for name, content in entries(path):
            if not name.startswith(TABLES):
                continue
            table = name.split("/")[1]
            layout = header.tables.get(table)
            if layout is None:
                raise DamagedSite
            rows = await asyncio.to_thread(_checked_rows, content, layout, header.tenant_id)
            left -= sum(map(_size_of, rows))
            if left < 0:
                raise DamagedSite(
                    "The archive unpacks to far more than its size. Nothing was imported."
                )
            await loading.insert(table, layout.columns, rows)
        await loading.bring_up_to_date()


def _checked_rows(content: IO[bytes], layout: TableLayout, tenant_id: str) -> list[list[Any]]:
    try:
        rows = read_rows(content, layout)
    except (DamagedArchive, ValueError, LookupError, TypeError, RecursionError) as error:
        raise DamagedSite from error
    at = layout.columns.index(TENANT)
    for row in rows:
        if len(row) != len(layout.columns):
            raise DamagedSite
        if row[at] != tenant_id:
            raise OtherSite
    return rows


def _size_of(row: list[Any]) -> int:
    return sum(len(each) for each in row if isinstance(each, str | bytes))
