"""Pictures for the tests, some with a location, some malicious."""

from __future__ import annotations

import io
import struct
import zlib

from PIL import Image

ORIENTATION = 0x0112
MAKE = 0x010F
EXIF_PART = 0x8769
GPS_PART = 0x8825
TAKEN_AT = 0x9003


def exif(*, orientation: int = 1, place: bool = True) -> Image.Exif:
    tags = Image.Exif()
    tags[MAKE] = "Camera"
    tags[ORIENTATION] = orientation
    tags[EXIF_PART] = {TAKEN_AT: "2026:01:02 03:04:05"}
    if place:
        tags[GPS_PART] = {
            1: "N",
            2: (52.0, 30.0, 59.0),
            3: "E",
            4: (13.0, 24.0, 58.0),
            29: "SECRET",
        }
    return tags


def picture(kind: str, size: tuple[int, int] = (64, 48), **options: object) -> bytes:
    """Red on the left and top, to recognize turns and crops; with noise like a photo."""
    image = Image.new("RGB", size, "blue")
    image.paste("red", (0, 0, size[0] // 2, size[1] // 2))
    return saved(image, kind, **options)


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)  # type: ignore[arg-type]
    return out.getvalue()


def png(width: int, height: int, *chunks: tuple[bytes, bytes]) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = [(b"IHDR", header), *chunks, (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        len(body).to_bytes(4) + kind + body + zlib.crc32(kind + body).to_bytes(4)
        for kind, body in parts
    )


def png_bomb(width: int = 60_000, height: int = 60_000) -> bytes:
    return png(width, height, (b"IDAT", zlib.compress(bytes(100_000))))


def with_frame_larger_than_screen() -> bytes:
    """A GIF whose screen is 1 by 1 and whose only frame claims 65,535 by 65,535."""
    gif = bytearray(saved(Image.new("P", (1, 1)), "GIF"))
    at = gif.index(b"\x2c", 13)
    gif[at + 5 : at + 9] = b"\xff\xff\xff\xff"
    return bytes(gif)
