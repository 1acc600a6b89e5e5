"""Bytes of an export as text that can be stored, whatever program wrote them."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from masthead.importers.html.densities import FOREIGN

CHUNK: Final = 256 * 1024
ESCAPED: Final = "surrogateescape"
_ESCAPES: Final = re.compile("[\udc80-\udcff]+")
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decoded(stream: BinaryIO) -> Iterator[str]:
    """Pieces of the text, as they are read.

    UTF-8, or UTF-16 where the first bytes say so. Single bytes that are no UTF-8 are read as the
    Windows code page, one by one: spreadsheet programs save in it, and lists that were pasted
    together have both.
    """
    start = stream.read(CHUNK)
    mark, encoding = next((each for each in _MARKS if start.startswith(each[0])), (b"", ""))
    encoding = encoding or _guessed(start)
    decoder = codecs.getincrementaldecoder(encoding)(ESCAPED if encoding == "utf-8" else "replace")
    foreign = ForeignLetters()
    piece = start[len(mark) :]
    while piece:
        yield foreign.read(decoder.decode(piece))
        piece = stream.read(CHUNK)
    yield foreign.read(decoder.decode(b"", final=True))


class ForeignLetters:
    """Single bytes that are no UTF-8 become letters of the Windows code page. What gives them is a
    decoder that handles errors as `ESCAPED`."""

    def __init__(self) -> None:
        self._count = 0
        self._size = 0

    def read(self, text: str) -> str:
        self._size += len(text)
        if _has_escapes(text):
            text = _ESCAPES.sub(self._letters, text)
            FOREIGN.check(self._count, self._size)
        return text

    def _letters(self, found: re.Match[str]) -> str:
        self._count += len(found[0])
        return found[0].translate(_WINDOWS)


def _has_escapes(text: str) -> bool:
    """Asked by encoding, which is ten times as quick as looking at every character."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _windows(byte: int) -> str:
    try:
        return bytes([byte]).decode("windows-1252")
    except UnicodeDecodeError:
        # Five bytes are left out there; browsers read them as control characters.
        return chr(byte)


_WINDOWS: Final = {0xDC00 + byte: _windows(byte) for byte in range(0x80, 0x100)}


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


def storable(text: str) -> str:
    """Without what a database can't hold: no NUL, and no half of a surrogate pair."""
    if text.isascii() and "\x00" not in text:
        return text
    return _UNSTORABLE.sub(lambda found: "" if found[0] == "\x00" else "\ufffd", text)
