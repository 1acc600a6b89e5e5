"""The location is removed; pixels, orientation and other metadata stay."""

from __future__ import annotations

import io
import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from tests.features.media.pictures import (
    EXIF_PART,
    GPS_PART,
    MAKE,
    ORIENTATION,
    TAKEN_AT,
    exif,
    picture,
    png,
)
from tests.tiers import rounds
from tests.work import at_most

from masthead.features.media.location import strip_location

XMP = (
    b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF><rdf:Description xmlns:exif="e" '
    b'exif:GPSLatitude="52,30N" exif:GPSLongitude = \'13,24E\' dc:title="kept">'
    b"<exif:GPSAltitude>34/1</exif:GPSAltitude></rdf:Description></rdf:RDF></x:xmpmeta>"
)
PLACES = (b"52,30N", b"13,24E", b"34/1")


def stripped(source: bytes) -> bytes:
    result = strip_location(io.BytesIO(source))
    assert result is not None
    return result


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "AVIF", "MPO"])
def test_the_location_is_removed_and_the_rest_stays(kind: str) -> None:
    source = picture(kind, exif=exif(orientation=6))
    before = Image.open(io.BytesIO(source))
    assert before.getexif().get_ifd(GPS_PART)
    assert b"SECRET" in source

    result = stripped(source)
    after = Image.open(io.BytesIO(result))
    tags = after.getexif()
    assert not tags.get_ifd(GPS_PART)
    assert GPS_PART not in tags
    assert (tags[ORIENTATION], tags[MAKE]) == (6, "Camera")
    assert tags.get_ifd(EXIF_PART)[TAKEN_AT] == "2026:01:02 03:04:05"
    assert after.tobytes() == before.tobytes()
    assert b"SECRET" not in result
    assert len(result) == len(source)
    assert strip_location(io.BytesIO(result)) is None


@pytest.mark.parametrize("endian", ["<", ">"])
def test_either_byte_order_is_read(endian: str) -> None:
    tags = exif()
    tags.endian = endian
    tiff = tags.tobytes().removeprefix(b"Exif\0\0")
    assert tiff[:2] == {"<": b"II", ">": b"MM"}[endian]
    assert b"SECRET" not in stripped(tiff)
    assert b"SECRET" not in stripped(png(1, 1, (b"eXIf", tiff)))


def test_a_second_location_is_removed_too() -> None:
    def directory(*entries: tuple[int, int, int, int]) -> bytes:
        packed = b"".join(struct.pack("<HHII", *each) for each in entries)
        return struct.pack("<H", len(entries)) + packed + bytes(4)

    first, second, texts = 8 + 54, 8 + 54 + 18, 8 + 54 + 36
    main = directory(
        (GPS_PART, 4, 1, first), (0x100, 4, 1, 7), (GPS_PART, 4, 1, second), (0x101, 4, 1, 9)
    )
    places = directory((1, 2, 8, texts)) + directory((1, 2, 8, texts + 8))
    source = b"II*\0\x08\0\0\0" + main + places + b"SECRET 1SECRET 2"
    result = stripped(source)
    assert b"SECRET" not in result
    assert result[8:38] == directory((0x100, 4, 1, 7), (0x101, 4, 1, 9))
    assert strip_location(io.BytesIO(result)) is None


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "AVIF"])
def test_a_picture_without_a_location_is_unchanged(kind: str) -> None:
    assert strip_location(io.BytesIO(picture(kind))) is None
    if kind != "GIF":
        assert strip_location(io.BytesIO(picture(kind, exif=exif(place=False)))) is None


@pytest.mark.parametrize("kind", ["JPEG", "WEBP"])
def test_a_location_in_xmp_is_removed(kind: str) -> None:
    source = picture(kind, xmp=XMP)
    assert all(place in source for place in PLACES)
    result = stripped(source)
    assert not any(place in result for place in PLACES)
    assert b'dc:title="kept"' in result
    assert len(result) == len(source)
    Image.open(io.BytesIO(result)).load()


def test_a_location_in_text_chunks_of_a_png_is_removed() -> None:
    plain = (b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + XMP)
    packed = (b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + zlib.compress(XMP))
    raw = (b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(b"hex"))
    other = (b"tEXt", b"Title\0kept")
    pixels = (b"IDAT", zlib.compress(bytes(4)))
    result = stripped(png(1, 1, plain, packed, raw, other, pixels))
    assert not any(place in result for place in PLACES)
    assert b'dc:title="kept"' in result
    assert b"Raw profile" not in result
    assert result.count(b"iTXt") == 1
    image = Image.open(io.BytesIO(result))
    image.load()
    assert image.info["Title"] == "kept"


def test_the_location_of_an_appended_picture_is_removed() -> None:
    first = picture("JPEG", exif=exif(place=False))
    assert b"SECRET" not in stripped(first + picture("JPEG", exif=exif()))


@settings(max_examples=rounds(80, 600), deadline=None)
@given(
    st.sampled_from(["JPEG", "PNG", "WEBP"]),
    st.integers(0, 1000),
    st.binary(min_size=1, max_size=6),
)
def test_damage_never_raises(kind: str, at: int, junk: bytes) -> None:
    source = bytearray(_SOURCES[kind])
    source[at : at + len(junk)] = junk
    strip_location(io.BytesIO(bytes(source)))


_SOURCES = {kind: picture(kind, exif=exif()) for kind in ("JPEG", "PNG", "WEBP")}


@given(st.binary(max_size=100), st.sampled_from([b"II*\0", b"MM\0*", b"\x89PNG\r\n\x1a\n", b""]))
def test_random_bytes_never_raise(junk: bytes, start: bytes) -> None:
    strip_location(io.BytesIO(start + junk))


ENTRY = b"\x25\x88\x04\0\1\0\0\0\x08\0\0\0"


@pytest.mark.parametrize(
    "unit",
    [
        b"Exif\0\0II*\0\x08\0\0\0\xff\xff" + ENTRY,
        b"II*\0\x08\0\0\0",
        b"EXIF",
        b"<exif:GPSa ",
        b"exif:GPSa='exif:GPSb=\"",
        ENTRY,
    ],
)
@pytest.mark.parametrize("start", [b"", b"II*\0\x08\0\0\0\xff\xff"])
def test_a_malicious_file_is_searched_only_in_part(unit: bytes, start: bytes) -> None:
    source = start + unit * (10_000_000 // len(unit))
    with at_most(5):
        strip_location(io.BytesIO(source))


@pytest.mark.parametrize("chunk", [(b"tEXt", b"Raw profile type x"), (b"tEXt", b"")])
def test_a_png_of_tiny_chunks_is_searched_only_in_part(chunk: tuple[bytes, bytes]) -> None:
    source = png(1, 1, *[chunk] * 200_000)
    with at_most(5):
        strip_location(io.BytesIO(source))
