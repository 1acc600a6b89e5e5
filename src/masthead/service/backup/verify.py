"""Checks an archive without restoring it: that it is whole, that its secrets can be read with the
root secrets in it, and that it has the files that its rows name."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from masthead.base.config.keyring import DecryptionError, KeyRing
from masthead.base.config.values import parse_secret_keys
from masthead.base.errors import MastheadError
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.fields.secrets import Secret
from masthead.engine.records.write.record_rows import ENCRYPTION_PURPOSE, secret_context
from masthead.service.backup.archive import Contents
from masthead.service.backup.restore import Count, check_archive, check_versions
from masthead.service.backup.stored_files import key_reader
from masthead.service.schema import registry, tables
from masthead.storage.archives import OBJECTS, DamagedArchive, TableLayout, entries, read_rows
from masthead.storage.migrate import HEAD


class NotWhole(MastheadError):
    message = "The archive is damaged or not complete. Take another backup."


class UnreadableSecrets(MastheadError):
    message = (
        "The root secret in the archive can't read the stored secrets in it. Take another backup, "
        "with the environment of the service."
    )


class Verified(msgspec.Struct):
    contents: Contents
    records: int = 0
    media: int = 0
    readable: int = 0
    unreadable: int = 0
    """Stored secrets that the root secrets of the archive read, or don't."""
    missing: int = 0
    """Files that rows name and the archive does not have."""


async def verify_backup(path: Path, count: Count = lambda _kind, _count: None) -> Verified:
    try:
        contents = await check_archive(path, count)
    except DamagedArchive as error:
        raise NotWhole from error
    check_versions(contents)
    verified = await asyncio.to_thread(_read, path, contents)
    if verified.unreadable and not verified.readable:
        raise UnreadableSecrets
    return verified


def _read(path: Path, contents: Contents) -> Verified:
    verified = Verified(contents)
    try:
        keyring = KeyRing([str(each) for each in parse_secret_keys(contents.secrets)])
        rows = _Rows(contents, keyring, verified)
        for name, file in entries(path):
            # Rows come before files.
            if name.startswith(OBJECTS):
                verified.media += 1
                rows.expected.discard(_digest(name.removeprefix(OBJECTS)))
            else:
                rows.read(name.split("/")[1], file)
    except (ValueError, LookupError, EOFError, msgspec.MsgspecError, OSError) as error:
        # Its sums are right, so it was written wrongly.
        raise NotWhole from error
    verified.missing = len(rows.expected)
    return verified


class _Rows:
    def __init__(self, contents: Contents, keyring: KeyRing, verified: Verified) -> None:
        self._header = contents.header
        self._keyring = keyring
        self._verified = verified
        self.expected: set[bytes] = set()
        """Digests of the keys of files: there may be millions."""

    def read(self, table: str, file: IO[bytes]) -> None:
        layout = self._header.tables[table]
        rows = read_rows(file, layout)
        if any(len(row) != len(layout.columns) for row in rows):
            raise NotWhole
        if table not in tables:
            return
        self._verified.records += len(rows)
        collection = registry[table]
        secrets = _secrets_of(collection, layout)
        # The rows of an older version may name files in another way.
        keys_of = key_reader(collection) if self._header.revision == HEAD else None
        for record in _records(rows, layout) if secrets or keys_of else ():
            self._check_secrets(collection, record, secrets)
            self._expect_files(record, keys_of)

    def _check_secrets(self, collection: Collection, record: Record, names: list[str]) -> None:
        for name in names:
            if not record[name]:
                continue
            context = secret_context(collection, record, name)
            try:
                self._keyring.decrypt(ENCRYPTION_PURPOSE, record[name], context)
            except DecryptionError:
                self._verified.unreadable += 1
            else:
                self._verified.readable += 1

    def _expect_files(self, record: Record, keys_of: Callable[[Record], list[str]] | None) -> None:
        if keys_of is not None:
            self.expected.update(_digest(key) for key in keys_of(record))


def _secrets_of(collection: Collection, layout: TableLayout) -> list[str]:
    names = [each.name for each in collection.fields if isinstance(each, Secret)]
    return [name for name in names if name in layout.columns]


def _records(rows: list[list[Any]], layout: TableLayout) -> Iterator[Record]:
    for row in rows:
        yield dict(zip(layout.columns, row, strict=True))


def _digest(key: str) -> bytes:
    return hashlib.blake2b(key.encode(), digest_size=12).digest()
