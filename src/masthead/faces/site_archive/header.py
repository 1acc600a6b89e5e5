"""The header of an archive of one site, and how such a file is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import msgspec

from masthead.base import ids
from masthead.base.errors import MastheadError
from masthead.storage.archives import CountBytes, DamagedArchive, OtherFile, TableLayout, read_whole
from masthead.storage.migrate import HEAD, OLDEST, OLDEST_VERSION, NeverReleased

FORMAT: Final = 1
HEADER: Final = "site.json"
SEALED: Final = "secrets.sealed"
"""The entry with the site's secrets, encrypted with the passphrase."""
_NAME: Final = re.compile(r"_?[a-z][a-z0-9_]{0,62}")
_REVISION: Final = re.compile(r"[0-9]{4}")
_HOST: Final = re.compile(r"[a-z0-9.:\[\]-]{1,260}")


class NotASite(MastheadError):
    message = "This file is not an archive made by `masthead site export`."


class DamagedSite(MastheadError):
    message = "The archive is damaged or incomplete. Nothing was imported."


class NewerSite(MastheadError):
    message = "The archive was written by a newer version of Masthead. Upgrade this one first."


class Header(msgspec.Struct, frozen=True):
    format: int
    version: str
    """Masthead's version."""
    created: str
    revision: str
    """The schema's revision."""
    tenant_id: str
    slug: str
    hosts: list[str]
    """The hosts of the site's addresses, with ports. The first is the one that its slug gives
    it."""
    tables: dict[str, TableLayout]


class Contents(msgspec.Struct, frozen=True):
    header: Header
    sealed: bytes
    """Empty if the archive has no secrets."""
    bytes: int


def read_site(path: Path, count: CountBytes = lambda _: None) -> Contents:
    """Reads the whole archive. Raises unless every checksum is right and this version of Masthead
    can import it."""
    try:
        small = read_whole(path, HEADER, (SEALED,), count)
        header = msgspec.json.decode(small[HEADER], type=Header)
    except OtherFile as error:
        raise NotASite from error
    except (DamagedArchive, ValueError) as error:
        raise DamagedSite from error
    except OSError as error:
        raise NotASite(f"{path} can't be read ({error.strerror}).") from error
    _check(header)
    return Contents(header, small.get(SEALED, b""), path.stat().st_size)


def _check(header: Header) -> None:
    # Revisions have leading zeros, so they compare as text.
    if header.format > FORMAT or header.revision > HEAD:
        raise NewerSite
    names = [*header.tables, *(name for each in header.tables.values() for name in each.columns)]
    is_valid = (
        header.format == FORMAT
        and _REVISION.fullmatch(header.revision)
        and ids.is_id(header.tenant_id)
        and all(_HOST.fullmatch(each) for each in header.hosts)
        and all(_NAME.fullmatch(each) for each in names)
        and all("tenant_id" in each.columns for each in header.tables.values())
    )
    if not is_valid:
        raise DamagedSite
    if header.revision < OLDEST:
        raise NeverReleased(
            f"No released version of Masthead wrote this archive. Import it with version "
            f"{OLDEST_VERSION}, and export the site again."
        )
