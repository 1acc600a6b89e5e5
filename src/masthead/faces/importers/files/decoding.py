"""Decodes the bytes of an export, in mixed encodings, to text that can be stored."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from masthead.faces.importers.files.densities import NOT_UTF8

CHUNK: Final = 256 * 1024
ESCAPED: Final = "surrogateescape"
_ESCAPES: Final = re.compile("[\udc80-\udcff]+")
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decoded(stream: BinaryIO, chunk: int = CHUNK) -> Iterator[str]:
    """Pieces of the text, as they are read.

    UTF-8, or UTF-16 where the first bytes show it. Single bytes that are not UTF-8 are read as
    Windows-1252: spreadsheet programs write it, and some files mix both.
    """
    start = stream.read(chunk)
    mark, encoding = _encoding(start)
    decoder = codecs.getincrementaldecoder(encoding)(ESCAPED if encoding == "utf-8" else "replace")
    fallback = WindowsFallback()
    piece = start[len(mark) :]
    while piece:
        yield fallback.decode(decoder.decode(piece))
        piece = stream.read(chunk)
    yield fallback.decode(decoder.decode(b"", final=True))


def encoding_name(stream: BinaryIO) -> str:
    """As people know it. Reads the whole stream unless its start says enough."""
    piece = stream.read(CHUNK)
    _, encoding = _encoding(piece)
    if encoding != "utf-8":
        return "UTF-16"
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        while piece:
            decoder.decode(piece)
            piece = stream.read(CHUNK)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return "Windows-1252"
    return "UTF-8"


class WindowsFallback:
    """Decodes single bytes that are not UTF-8 as Windows-1252. Its input is the output of a decoder
    with the error handler `ESCAPED`."""

    def __init__(self) -> None:
        self._count = 0
        self._size = 0

    def decode(self, text: str) -> str:
        self._size += len(text)
        if _has_escapes(text):
            text = _ESCAPES.sub(self._characters, text)
            NOT_UTF8.check(self._count, self._size)
        return text

    def _characters(self, found: re.Match[str]) -> str:
        self._count += len(found[0])
        return found[0].translate(_WINDOWS)


def _has_escapes(text: str) -> bool:
    """Tries to encode the text, which is ten times as quick as searching for escapes."""
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
        # Five bytes are undefined; browsers read them as control characters.
        return chr(byte)


_WINDOWS: Final = {0xDC00 + byte: _windows(byte) for byte in range(0x80, 0x100)}


def _encoding(start: bytes) -> tuple[bytes, str]:
    """The byte order mark, if there is one, and the encoding."""
    marked = next((each for each in _BYTE_ORDER_MARKS if start.startswith(each[0])), None)
    return marked or (b"", _guess_encoding(start))


def _guess_encoding(start: bytes) -> str:
    """In UTF-16 without a byte order mark, every second byte of Latin text is zero."""
    sample = start[:400]
    high, low = sample[0::2].count(0), sample[1::2].count(0)
    enough = max(2, len(sample) * 0.3)
    if low >= enough and not high:
        return "utf-16-le"
    if high >= enough and not low:
        return "utf-16-be"
    return "utf-8"


def storable(text: str) -> str:
    """Without characters that a database can't store: NUL and single surrogates."""
    if text.isascii() and "\x00" not in text:
        return text
    return _UNSTORABLE.sub(lambda found: "" if found[0] == "\x00" else "\ufffd", text)
