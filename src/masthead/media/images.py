"""Pictures: their size and their thumbs, through Pillow.

Uploads are hostile until proven otherwise: only formats named here are opened, the size is checked
from the header before anything is decoded, and whatever a decoder stumbles over is `BadImage`.
The functions block, so the service runs them through an `ImagePool`.
"""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import BinaryIO, ParamSpec, TypeVar

from PIL import Image, ImageOps

from masthead.errors import Unavailable

MAX_PIXELS = 80_000_000
"""Larger pictures are never decoded. Below Pillow's own limit, whose warning thus never shows."""
MAX_PIXELS_OF = {"PNG": 40_000_000, "GIF": 40_000_000, "WEBP": 25_000_000}
"""For thumbs of what can only be decoded whole: 4 bytes a pixel, in WebP's case 15."""
MAX_THUMB_SIDE = 4096
MAX_THUMB_PIXELS = MAX_THUMB_SIDE * MAX_THUMB_SIDE

_MEASURED = ("PNG", "JPEG", "GIF", "WEBP", "AVIF", "BMP")
_THUMBED = ("PNG", "JPEG", "GIF", "WEBP")
_JPEG = ("JPEG", "MPO")
"""MPO is what phones write: a JPEG with further pictures behind it."""
_EXIF_ORIENTATION = 0x0112
_QUARTER_TURNS = (5, 6, 7, 8)
_MAX_ICC_BYTES = 64 * 1024

P = ParamSpec("P")
T = TypeVar("T")


class BadImage(Exception):
    """Not a picture we can read: another format, broken, cut off, or too large to decode."""


@dataclass(slots=True)
class _Turns:
    """Of one tenant: who is at work, and how many are there with those who wait."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    inside: int = 0


class ImagePool:
    """A few threads for picture work: a burst of it blocks no loop and fills no memory."""

    def __init__(self, *, threads: int = 2, waiting: int = 64) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="images")
        self._waiting = waiting
        self._room = threads + waiting
        self._inside = 0
        self._turns: dict[str, _Turns] = {}

    @asynccontextmanager
    async def turn(self, tenant_id: str) -> AsyncIterator[None]:
        """One of a tenant at a time, so that none holds all the threads and all the memory that
        decoding takes; Unavailable when too many wait already."""
        turns = self._turns.setdefault(tenant_id, _Turns())
        if turns.inside > self._waiting:
            raise Unavailable
        turns.inside += 1
        try:
            async with turns.lock:
                yield
        finally:
            turns.inside -= 1
            if not turns.inside:
                del self._turns[tenant_id]

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs `work` in a thread; Unavailable when too much is waiting already.

        A cancelled caller still waits for a thread that has begun, because it reads their file.
        """
        if self._inside >= self._room:
            raise Unavailable
        self._inside += 1
        try:
            job = self._threads.submit(work, *args, **kwargs)
            running = asyncio.wrap_future(job)
            try:
                return await asyncio.shield(running)
            except asyncio.CancelledError:
                if not job.cancel():
                    await asyncio.wait([running])
                raise
            finally:
                # An exception's traceback has this frame, and by the decoder's frames the picture.
                # If this frame had the exception too, all of it would stay until a collection.
                del job, running
        finally:
            self._inside -= 1

    def close(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)


def dimensions(file: BinaryIO) -> tuple[int, int] | None:
    """Width and height as shown, the camera's orientation applied; None for no usable picture."""
    try:
        with _opened(file, _MEASURED) as image:
            return _shown_size(image)
    except BadImage:
        return None


class Crop(StrEnum):
    CENTRE = ""
    TOP = "t"
    BOTTOM = "b"
    FIT = "f"


@dataclass(frozen=True, slots=True)
class ThumbSpec:
    """A thumb's size; a width or height of 0 follows from the other."""

    width: int
    height: int
    crop: Crop = Crop.CENTRE

    def __str__(self) -> str:
        return f"{self.width}x{self.height}{self.crop}"


def parse_thumb(text: str) -> ThumbSpec | None:
    """`100x50`, `100x50t`, `100x50b`, `100x50f`, `0x50`, `100x0`; None for anything else."""
    match = re.fullmatch(r"([0-9]{1,4})x([0-9]{1,4})([tbf]?)", text)
    if match is None:
        return None
    width, height = int(match[1]), int(match[2])
    if not 0 < max(width, height) <= MAX_THUMB_SIDE:
        return None
    # With one side free there is nothing to crop, so the letter has no meaning.
    crop = Crop(match[3]) if width and height else Crop.CENTRE
    return ThumbSpec(width, height, crop)


def make_thumb(source: BinaryIO, spec: ThumbSpec) -> bytes:
    """A still copy of the picture in its own format, without its metadata. Raises BadImage."""
    with _opened(source, _THUMBED) as image:
        kind = "JPEG" if image.format in _JPEG else image.format or ""
        if kind in MAX_PIXELS_OF:
            # Only JPEG gains from a plan before decoding; PNG may tell its orientation at the end.
            _refuse_larger(image, MAX_PIXELS_OF[kind])
            image.load()
        plan = _plan(_shown_size(image), spec)
        image.draft(None, _coarse_size(image, plan))
        image.load()
        _refuse_larger(image, MAX_PIXELS)
        # A profile describes the colours of the source; converted ones it would distort.
        icc = image.info.get("icc_profile", b"") if image.mode in ("RGB", "RGBA") else b""
        return _encoded(_drawn(image, plan), kind, icc)


@dataclass(frozen=True, slots=True)
class _Plan:
    source: tuple[int, int]
    box: tuple[float, float, float, float]
    """The part of the upright source to show."""
    size: tuple[int, int]


def _plan(source: tuple[int, int], spec: ThumbSpec) -> _Plan:
    width, height = source
    whole = (0.0, 0.0, float(width), float(height))
    if not spec.width or not spec.height:
        scale = spec.width / width or spec.height / height
        return _Plan(source, whole, _scaled(source, scale))
    if spec.crop is Crop.FIT:
        scale = min(spec.width / width, spec.height / height, 1.0)
        return _Plan(source, whole, _scaled(source, scale))
    scale = max(spec.width / width, spec.height / height)
    used_width, used_height = min(width, spec.width / scale), min(height, spec.height / scale)
    left = (width - used_width) / 2
    top = {Crop.TOP: 0.0, Crop.BOTTOM: height - used_height}.get(
        spec.crop, (height - used_height) / 2
    )
    box = (left, top, left + used_width, top + used_height)
    return _Plan(source, box, (spec.width, spec.height))


def _scaled(source: tuple[int, int], scale: float) -> tuple[int, int]:
    width, height = (max(1, round(side * scale)) for side in source)
    if width * height > MAX_THUMB_PIXELS:
        # A strip of 1 by 10,000 asked to be 4,096 wide.
        raise BadImage("The thumb of this picture would be too large.")
    return width, height


def _coarse_size(image: Image.Image, plan: _Plan) -> tuple[int, int]:
    """Twice as fine as the thumb: what to decode JPEG at, and to reduce others to, for speed."""
    left, top, right, bottom = plan.box
    scale = 2 * max(plan.size[0] / (right - left), plan.size[1] / (bottom - top))
    return max(1, round(image.width * scale)), max(1, round(image.height * scale))


def _drawn(image: Image.Image, plan: _Plan) -> Image.Image:
    coarse = _workable(image)
    factor = min(a // b for a, b in zip(coarse.size, _coarse_size(image, plan), strict=True))
    if factor > 1:
        coarse = coarse.reduce(factor)
    upright = ImageOps.exif_transpose(coarse)
    across, down = upright.width / plan.source[0], upright.height / plan.source[1]
    left, top, right, bottom = plan.box
    box = (
        left * across,
        top * down,
        min(right * across, upright.width),
        min(bottom * down, upright.height),
    )
    return upright.resize(plan.size, Image.Resampling.LANCZOS, box=box)


def _workable(image: Image.Image) -> Image.Image:
    """In a mode that can be resized smoothly and saved in every format."""
    if image.mode in ("RGB", "RGBA", "L"):
        return image
    if image.mode.startswith("I"):
        # 16 bits of grey; a plain conversion would cut every value off at 255.
        return image.convert("I").point(lambda grey: grey * (1 / 256)).convert("L")
    return image.convert("RGBA" if image.has_transparency_data else "RGB")


def _encoded(thumb: Image.Image, kind: str, icc: bytes) -> bytes:
    out = io.BytesIO()
    profile = icc if len(icc) <= _MAX_ICC_BYTES else None
    if kind == "JPEG":
        thumb.convert("RGB").save(
            out, "JPEG", quality=85, optimize=True, icc_profile=profile or None
        )
    elif kind == "WEBP":
        thumb.save(out, "WEBP", quality=82, icc_profile=profile or None)
    elif kind == "PNG":
        thumb.save(out, "PNG", icc_profile=profile or None)
    else:
        thumb.save(out, "GIF")
    return out.getvalue()


@contextmanager
def _opened(file: BinaryIO, formats: tuple[str, ...]) -> Iterator[Image.Image]:
    file.seek(0)
    try:
        # Not as a context of its own: that would close the caller's file.
        image = Image.open(file, formats=formats)
        _refuse_larger(image, MAX_PIXELS)
        yield image
    except BadImage:
        raise
    except MemoryError as error:
        # Of the machine, not of the file: another time it may do.
        raise Unavailable from error
    except Exception as error:
        # Decoders raise whatever their parsing runs into (OSError, SyntaxError, struct.error,
        # IndexError, zlib.error, Pillow's bomb errors ...); to us it's one fact about the file.
        raise BadImage("The file is not a picture that can be read.") from error


def _refuse_larger(image: Image.Image, pixels: int) -> None:
    if image.width * image.height > pixels:
        raise BadImage(f"The picture has more than {pixels // 1_000_000} million pixels.")


def _shown_size(image: Image.Image) -> tuple[int, int]:
    if image.format == "PNG" and "exif" not in image.info:
        # Pillow would decode the whole picture to look for it behind the pixels.
        return image.size
    is_on_its_side = image.getexif().get(_EXIF_ORIENTATION) in _QUARTER_TURNS
    return (image.height, image.width) if is_on_its_side else image.size
