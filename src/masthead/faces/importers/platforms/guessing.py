"""From which platform an uploaded file comes, by its beginning or by the names in its archive.

Nothing of the file is trusted by that: the platform's reader checks all of it.
"""

from __future__ import annotations

import csv
import zlib
from collections.abc import Collection
from pathlib import PurePosixPath
from typing import BinaryIO, Final

from masthead.base.languages.words import staff_words
from masthead.faces.importers.files.export_files import names_in_zip
from masthead.faces.importers.source import BadFile

HEAD_BYTES: Final = 64 * 1024
UNKNOWN: Final = staff_words(
    "This is not an export of WordPress, Ghost or Substack. WordPress gives an .xml file, Ghost a "
    ".json or .zip file, Substack a .zip file; lists of members are .csv files."
)
UNCLEAR: Final = staff_words("The file does not say where it comes from. Choose the platform.")

_ZIP: Final = b"PK"
_GZIP: Final = b"\x1f\x8b"
_BOMS: Final = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
_SUBSTACK: Final = frozenset(
    {"active_subscription", "email_disabled", "expiry", "post_id", "subscription_type", "plan"}
)
_GHOST: Final = frozenset(
    {"subscribed_to_emails", "complimentary_plan", "tiers", "labels", "deleted_at", "note"}
)


def guess_platform(file: BinaryIO) -> str:
    """Raises `BadFile` where it is no export, or can't be told."""
    file.seek(0)
    head = file.read(HEAD_BYTES)
    if head.startswith(_ZIP):
        return _of_names(names_in_zip(file))
    if head.startswith(_GZIP):
        head = _unpacked(head)
    text = head.decode(_encoding(head), "replace").lstrip("\ufeff \t\r\n")
    if not text:
        raise BadFile(staff_words("The file is empty."))
    if text.startswith(("{", "[")):
        return "ghost"
    if "<rss" in text or text.startswith("<?xml"):
        return "wordpress"
    return _of_columns(text)


def _of_names(names: Collection[str]) -> str:
    files = {PurePosixPath(name.lower()) for name in names}
    if any(each.name == "posts.csv" for each in files):
        return "substack"
    if any(each.name.removesuffix(".gz").endswith((".xml", ".wxr")) for each in files):
        return "wordpress"
    if any(each.suffix == ".json" for each in files):
        return "ghost"
    if any(each.suffix == ".csv" for each in files):
        raise BadFile(UNCLEAR)
    raise BadFile(UNKNOWN)


def _of_columns(text: str) -> str:
    first = text.splitlines()[0]
    if "<" in first or "\0" in first:
        raise BadFile(UNKNOWN)
    separator = max(",;\t", key=first.count)
    columns = {each.strip().lower() for each in next(csv.reader([first], delimiter=separator))}
    if columns & _SUBSTACK:
        return "substack"
    if columns & _GHOST:
        return "ghost"
    if columns & {"email", "e-mail"}:
        raise BadFile(UNCLEAR)
    raise BadFile(UNKNOWN)


def _encoding(head: bytes) -> str:
    return next((name for bom, name in _BOMS.items() if head.startswith(bom)), "utf-8")


def _unpacked(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(head, HEAD_BYTES)
    except zlib.error as error:
        raise BadFile(staff_words("The archive is damaged or cut off.")) from error
