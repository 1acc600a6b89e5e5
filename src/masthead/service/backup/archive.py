"""The archive of a backup: an archive of `storage/archives.py` with the root secrets.

masthead.json    format, schema revision, tables with their columns
secret.key       the root secrets, the active one first
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from masthead.base.errors import MastheadError
from masthead.storage.archives import CountBytes, DamagedArchive, OtherFile, TableLayout, read_whole

FORMAT: Final = 1
HEADER: Final = "masthead.json"
SECRETS: Final = "secret.key"


class NotAnArchive(MastheadError):
    message = "This file is not a backup made by `masthead backup`."


class Header(msgspec.Struct, frozen=True):
    format: int
    version: str
    """Masthead's version."""
    created: str
    engine: str
    revision: str
    """The schema's revision."""
    tables: dict[str, TableLayout]


class Contents(msgspec.Struct):
    header: Header
    secrets: str
    bytes: int


def read_contents(path: Path, count: CountBytes = lambda _: None) -> Contents:
    """Reads the whole archive; raises `DamagedArchive` unless every checksum is right."""
    try:
        small = read_whole(path, HEADER, (SECRETS,), count)
        header = msgspec.json.decode(small[HEADER], type=Header)
        return Contents(header, small[SECRETS].decode().strip(), path.stat().st_size)
    except OtherFile as error:
        raise NotAnArchive from error
    except (LookupError, ValueError) as error:
        raise DamagedArchive from error
