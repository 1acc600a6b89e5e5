"""Bytes of an export as text that can be stored, whatever program wrote them."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import BinaryIO, Final

CHUNK: Final = 256 * 1024
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_AS_WINDOWS: Final = "masthead-windows-1252"


def decoded(stream: BinaryIO) -> Iterator[str]:
    """Pieces of the text, as they are read.

    UTF-8, or UTF-16 where the first bytes say so. Single bytes that are no UTF-8 are read as the
    Windows code page, one by one: spreadsheet programs save in it, and lists that were pasted
    together have both.
    """
    start = stream.read(CHUNK)
    mark, encoding = next((each for each in _MARKS if start.startswith(each[0])), (b"", ""))
    encoding = encoding or _guessed(start)
    errors = _AS_WINDOWS if encoding == "utf-8" else "replace"
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    piece = start[len(mark) :]
    while piece:
        yield decoder.decode(piece)
        piece = stream.read(CHUNK)
    yield decoder.decode(b"", final=True)


def _guessed(start: bytes) -> str:
    """UTF-16 without a mark shows as a zero beside every Latin letter."""
    sample = start[:400]
    high, low = sample[0::2].count(0), sample[1::2].count(0)
    enough = max(2, len(sample) * 0.3)
    if low >= enough and not high:
        return "utf-16-le"
    if high >= enough and not low:
        return "utf-16-be"
    return "utf-8"


def _as_windows(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    foreign = error.object[error.start : error.end]
    # The five bytes that the code page leaves out are control characters, as browsers read them.
    return "".join(_windows(byte) for byte in foreign), error.end


def _windows(byte: int) -> str:
    try:
        return bytes([byte]).decode("windows-1252")
    except UnicodeDecodeError:
        return chr(byte)


codecs.register_error(_AS_WINDOWS, _as_windows)


def storable(text: str) -> str:
    """Without what a database can't hold: no NUL, and no half of a surrogate pair."""
    if text.isascii() and "\x00" not in text:
        return text
    return _UNSTORABLE.sub(lambda found: "" if found[0] == "\x00" else "\ufffd", text)
