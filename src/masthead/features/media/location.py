"""Removes the GPS location from a picture and changes nothing else.

It overwrites the GPS part of EXIF and the GPS properties of XMP in place, so that offsets, pixels
and orientation stay the same.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import BinaryIO, Literal

_GPS_POINTER = 0x8825
_ENTRY_BYTES = 12
_VALUE_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}
_TIFF_STARTS = (b"II*\0", b"MM\0*")
_MAX_EXIF_BYTES = 64 * 1024
_MAX_XMP_BYTES = 2 * 1024 * 1024
_MAX_POSITIONS = 64
_MAX_GPS_ENTRIES = 64
_MAX_PNG_CHUNKS = 50_000

_PNG_START = b"\x89PNG\r\n\x1a\n"
_PNG_METADATA = (b"eXIf", b"iTXt", b"tEXt", b"zTXt")
_PNG_XMP = b"XML:com.adobe.xmp\0"
# `exif:GPSLatitude="52,30N"` and `<exif:GPSLatitude>52,30N</exif:GPSLatitude>`; bounded and without
# backtracking, so that an unclosed quote or tag is cheap.
_XMP_GPS = re.compile(
    rb"""exif:GPS[A-Za-z]{1,40}+\s{0,20}+=\s{0,20}+(?:"[^"<]{0,500}+"|'[^'<]{0,500}+')"""
    rb"""|<(exif:GPS[A-Za-z]{1,40}+)(?:\s[^<>]{0,200}+)?+>[^<]{0,500}+</\1\s{0,20}+>"""
)


def strip_location(file: BinaryIO) -> bytes | None:
    """The picture without its location; None if there is nothing to remove."""
    file.seek(0)
    data = bytearray(file.read())
    if data.startswith(_PNG_START):
        return _strip_png(data)
    was_changed = False
    for start, end in _exif_blocks(data):
        was_changed |= _blank_gps(data, start, min(end, len(data)))
    was_changed |= _blank_xmp(data)
    return bytes(data) if was_changed else None


def _exif_blocks(data: bytearray) -> Iterator[tuple[int, int]]:
    """The positions of EXIF: in the main picture and in any further one that a camera appended."""
    if data.startswith(_TIFF_STARTS):
        yield 0, len(data)
    for at in _positions(data, b"Exif\0\0"):
        # In a JPEG the segment's length comes before; HEIF has no such bound nearby.
        is_segment = at >= 4 and data[at - 4 : at - 2] == b"\xff\xe1"
        length = int.from_bytes(data[at - 2 : at]) - 2 if is_segment else _MAX_EXIF_BYTES
        yield at + 6, at + length
    for at in _positions(data, b"EXIF"):
        # WebP: a chunk's name and length.
        yield at + 8, at + 8 + int.from_bytes(data[at + 4 : at + 8], "little")
    for needle in (b"II*\0\x08\0\0\0", b"MM\0*\0\0\0\x08"):
        # AVIF may have nothing but the TIFF header itself.
        for at in _positions(data, needle):
            yield at, at + _MAX_EXIF_BYTES


def _positions(data: bytearray, needle: bytes) -> Iterator[int]:
    at = -1
    # Bounded for a file made of needles; real files have a few.
    for _ in range(_MAX_POSITIONS):
        at = data.find(needle, at + 1)
        if at == -1:
            return
        yield at


def _blank_gps(data: bytearray, start: int, end: int) -> bool:
    """Removes the GPS directory from the TIFF structure at `start`, never writing past `end`."""
    if not data.startswith(_TIFF_STARTS, start):
        return False
    order: Literal["little", "big"] = "little" if data[start] == ord("I") else "big"

    def number(at: int, size: int) -> int:
        return int.from_bytes(data[at : at + size], order)

    directory = start + number(start + 4, 4)
    if directory + 2 > end:
        return False
    count = number(directory, 2)
    last = directory + 2 + count * _ENTRY_BYTES
    entries = range(directory + 2, min(last, end - _ENTRY_BYTES + 1), _ENTRY_BYTES)
    # More than one is against the format, but some program would show it.
    found = [entry for entry in entries if number(entry, 2) == _GPS_POINTER]
    for at in [number(entry + 8, 4) for entry in found[:_MAX_POSITIONS]]:
        _blank_directory(data, start, start + at, end, order=order)
    if found:
        _remove_entries(data, directory + 2, found, min(last + 4, end))
        data[directory : directory + 2] = (count - len(found)).to_bytes(2, order)
    return bool(found)


def _remove_entries(data: bytearray, start: int, found: list[int], end: int) -> None:
    """The following entries and the link to the next directory move up."""
    kept = bytearray()
    for entry in found:
        kept += data[start:entry]
        start = entry + _ENTRY_BYTES
    kept += data[start:end]
    begins = end - len(kept) - len(found) * _ENTRY_BYTES
    data[begins:end] = kept + bytes(len(found) * _ENTRY_BYTES)


def _blank_directory(
    data: bytearray, start: int, directory: int, end: int, *, order: Literal["little", "big"]
) -> None:
    if directory + 2 > end:
        return
    count = int.from_bytes(data[directory : directory + 2], order)
    for position in range(min(count, _MAX_GPS_ENTRIES)):
        entry = directory + 2 + position * _ENTRY_BYTES
        if entry + _ENTRY_BYTES > end:
            break
        kind = int.from_bytes(data[entry + 2 : entry + 4], order)
        size = int.from_bytes(data[entry + 4 : entry + 8], order) * _VALUE_SIZES.get(kind, 0)
        value = start + int.from_bytes(data[entry + 8 : entry + 12], order)
        if size > 4:
            _blank(data, value, min(value + min(size, _MAX_EXIF_BYTES), end))
        _blank(data, entry, entry + _ENTRY_BYTES)
    _blank(data, directory, directory + 2)


def _blank(data: bytearray, start: int, end: int) -> None:
    if start < end:
        data[start:end] = bytes(end - start)


def _blank_xmp(data: bytearray) -> bool:
    start = data.find(b"exif:GPS")
    if start == -1:
        return False
    start = max(0, start - 1)
    end = start + _MAX_XMP_BYTES
    cleaned, count = _XMP_GPS.subn(lambda found: b" " * len(found[0]), data[start:end])
    data[start:end] = cleaned
    return count > 0


def _strip_png(data: bytearray) -> bytes | None:
    """Each PNG chunk has a checksum, and metadata chunks may be removed."""
    view = memoryview(data)
    parts: list[bytes | memoryview] = []
    copied_until = 0
    for start, end in _png_metadata(data):
        kind, body = bytes(view[start + 4 : start + 8]), bytes(view[start + 8 : end - 4])
        cleaned = _clean_png_chunk(kind, body)
        if cleaned == body:
            continue
        parts.append(view[copied_until:start])
        copied_until = end
        if cleaned is not None:
            checksum = zlib.crc32(kind + cleaned).to_bytes(4)
            parts.append(len(cleaned).to_bytes(4) + kind + cleaned + checksum)
    return b"".join([*parts, view[copied_until:]]) if parts else None


def _png_metadata(data: bytearray) -> Iterator[tuple[int, int]]:
    at = len(_PNG_START)
    for _ in range(_MAX_PNG_CHUNKS):
        end = at + 12 + int.from_bytes(data[at : at + 4])
        if end > len(data):
            return
        if data[at + 4 : at + 8] in _PNG_METADATA:
            yield at, end
        at = end


def _clean_png_chunk(kind: bytes, body: bytes) -> bytes | None:
    """The chunk's content without a location; None to drop the chunk."""
    if kind == b"eXIf" and body.startswith(_TIFF_STARTS):
        exif = bytearray(body)
        _blank_gps(exif, 0, len(exif))
        return bytes(exif)
    if kind == b"iTXt" and body.startswith(_PNG_XMP):
        if body[len(_PNG_XMP) : len(_PNG_XMP) + 1] == b"\1":
            return None  # Compressed, and possibly a decompression bomb.
        xmp = bytearray(body)
        _blank_xmp(xmp)
        return bytes(xmp)
    if kind != b"eXIf" and body.startswith(b"Raw profile type "):
        return None  # EXIF or XMP as hexadecimal text, written by old ImageMagick.
    return body
