"""Dimensions, thumbnails and smaller copies of pictures, with Pillow.

Uploads are untrusted: only the formats listed here are opened, the size is checked from the header
before anything is decoded, and every decoder error becomes `BadImage`. The functions block, so the
service runs them in an `ImagePool`.
"""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from enum import StrEnum
from typing import Any, BinaryIO, Literal, NamedTuple, ParamSpec, TypeVar

import msgspec
from PIL import Image, ImageOps

from masthead.base.errors import Unavailable

MAX_PIXELS = 80_000_000
"""Larger pictures are never decoded. Below Pillow's own limit, which would warn."""
MAX_PIXELS_OF = {
    "PNG": 40_000_000,
    "GIF": 40_000_000,
    "WEBP": 25_000_000,
    "AVIF": 25_000_000,
}
"""For formats that can only be decoded as a whole: 4 bytes a pixel, 15 for WebP."""
MAX_THUMB_SIDE = 4096
MAX_THUMB_PIXELS = MAX_THUMB_SIDE * MAX_THUMB_SIDE

_MEASURABLE_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "AVIF", "BMP")
_THUMBNAIL_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
_COPIED_FORMATS = (*_THUMBNAIL_FORMATS, "AVIF")
_JPEG = ("JPEG", "MPO")
"""Phones write MPO: a JPEG followed by further pictures."""
_EXIF_ORIENTATION = 0x0112
_QUARTER_TURNS = (5, 6, 7, 8)
_MAX_ICC_BYTES = 64 * 1024

P = ParamSpec("P")
T = TypeVar("T")


class BadImage(Exception):
    """A picture that can't be decoded: of another format, broken, truncated or too large."""


class _TenantQueue(msgspec.Struct):
    """The running task of one tenant, and how many run or wait."""

    lock: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    count: int = 0


class ImagePool:
    """A few threads for picture work, with a limited queue."""

    def __init__(self, *, threads: int = 2, max_waiting: int = 64) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="images")
        self._max_waiting = max_waiting
        self._capacity = threads + max_waiting
        self._count = 0
        self._tenants: dict[str, _TenantQueue] = {}

    @asynccontextmanager
    async def tenant_slot(self, tenant_id: str) -> AsyncIterator[None]:
        """One task of a tenant at a time, so that no tenant uses all threads and memory. Raises
        Unavailable if too many wait."""
        queue = self._tenants.setdefault(tenant_id, _TenantQueue())
        if queue.count > self._max_waiting:
            raise Unavailable
        queue.count += 1
        try:
            async with queue.lock:
                yield
        finally:
            queue.count -= 1
            if not queue.count:
                del self._tenants[tenant_id]

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs `work` in a thread; raises Unavailable if too much is waiting.

        A cancelled caller waits for a running thread, because the thread reads the caller's file.
        """
        if self._count >= self._capacity:
            raise Unavailable
        self._count += 1
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
                # An exception's traceback refers to this frame and to the picture. If this frame
                # referred to the exception, the cycle would stay until garbage collection.
                del job, running
        finally:
            self._count -= 1

    def close(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)


def dimensions(file: BinaryIO) -> tuple[int, int] | None:
    """Width and height with the camera's orientation applied; None if it can't be decoded."""
    try:
        with _open(file, _MEASURABLE_FORMATS) as image:
            return _shown_size(image)
    except BadImage:
        return None


class Crop(StrEnum):
    CENTRE = ""
    TOP = "t"
    BOTTOM = "b"
    FIT = "f"


class ThumbSpec(msgspec.Struct, frozen=True):
    """A thumbnail's size; a width or height of 0 is derived from the other."""

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
    # With one side free there is nothing to crop, so the suffix has no meaning.
    crop = Crop(match[3]) if width and height else Crop.CENTRE
    return ThumbSpec(width, height, crop)


def make_thumb(source: BinaryIO, spec: ThumbSpec) -> bytes:
    """A still copy of the picture in its own format, without metadata. Raises BadImage."""
    with _open(source, _THUMBNAIL_FORMATS) as image:
        shown, icc = _decoded(image, spec)
        return _encoded(shown, _kind(image), icc)


COPY_WIDTHS = (480, 800, 1200, 1600)
_COPY_OPTIONS: dict[str, dict[str, Any]] = {
    # One thread: the pool limits how many pictures are encoded at once.
    "avif": {"quality": 60, "speed": 8, "max_threads": 1},
    "webp": {"quality": 78},
}
COPY_TYPES = {"avif": "image/avif", "webp": "image/webp"}
"""The best format first."""


class Copy(NamedTuple):
    """A copy of a picture for screens of one size, in a format that saves bytes."""

    width: int
    kind: Literal["avif", "webp"]

    def __str__(self) -> str:
        return f"{self.width}.{self.kind}"


def parse_copy(text: str) -> Copy | None:
    match = re.fullmatch(r"([1-9][0-9]{0,3})\.(avif|webp)", text, re.ASCII)
    if match is None:
        return None
    return Copy(int(match[1]), "avif" if match[2] == "avif" else "webp")


def copy_widths(width: int) -> tuple[int, ...]:
    """The widths of a picture's copies: never wider than it is."""
    widest = min(width, COPY_WIDTHS[-1])
    # One that is nearly as wide would save nothing.
    return (*(each for each in COPY_WIDTHS if each <= 0.8 * widest), widest)


def make_copies(source: BinaryIO, copies: Collection[Copy]) -> dict[Copy, bytes]:
    """All from one decoding, upright and without metadata. Raises BadImage, also for an animated
    picture: a copy would lose the animation."""
    with _open(source, _COPIED_FORMATS) as image:
        if image.format not in _JPEG and getattr(image, "is_animated", False):
            raise BadImage("The picture moves.")
        widest = max(each.width for each in copies)
        if widest > _shown_size(image)[0]:
            raise BadImage("The copy would be larger than the picture.")
        whole, icc = _decoded(image, ThumbSpec(widest, 0))
        made: dict[Copy, bytes] = {}
        shown = {widest: whole}
        for copy in copies:
            if copy.width not in shown:
                height = max(1, round(whole.height * copy.width / widest))
                size = (copy.width, height)
                shown[copy.width] = whole.resize(size, Image.Resampling.LANCZOS, reducing_gap=2)
            made[copy] = _encoded_copy(shown[copy.width], copy, icc)
        return made


def _encoded_copy(shown: Image.Image, copy: Copy, icc: bytes) -> bytes:
    out = io.BytesIO()
    shown = shown if shown.mode in ("RGB", "RGBA") else shown.convert("RGB")
    profile = icc if len(icc) <= _MAX_ICC_BYTES else b""
    options = {**_COPY_OPTIONS[copy.kind], **({"icc_profile": profile} if profile else {})}
    shown.save(out, copy.kind.upper(), **options)
    return out.getvalue()


def _kind(image: Image.Image) -> str:
    return "JPEG" if image.format in _JPEG else image.format or ""


def _decoded(image: Image.Image, spec: ThumbSpec) -> tuple[Image.Image, bytes]:
    """The picture in the size of `spec`, upright, and its colour profile."""
    kind = _kind(image)
    if kind in MAX_PIXELS_OF:
        # Only JPEG can be decoded at a smaller size; PNG may have its orientation at the end.
        _refuse_larger(image, MAX_PIXELS_OF[kind])
        image.load()
    plan = _plan(_shown_size(image), spec)
    image.draft(None, _coarse_size(image, plan))
    image.load()
    _refuse_larger(image, MAX_PIXELS)
    # The profile describes the source's colours and would distort converted ones.
    icc = image.info.get("icc_profile", b"") if image.mode in ("RGB", "RGBA") else b""
    return _resized(image, plan), icc or b""


class _Plan(msgspec.Struct, frozen=True):
    source: tuple[int, int]
    box: tuple[float, float, float, float]
    """The visible part of the upright source."""
    size: tuple[int, int]


def _plan(source: tuple[int, int], spec: ThumbSpec) -> _Plan:
    width, height = source
    whole = (0.0, 0.0, float(width), float(height))
    if not spec.width or not spec.height:
        scale = spec.width / width or spec.height / height
        return _Plan(source, whole, _scaled(source, scale))
    if spec.crop is Crop.FIT:
        if width <= spec.width and height <= spec.height:
            return _Plan(source, whole, source)
        # Rounded down, as PocketBase does here.
        if width * spec.height > spec.width * height:
            return _Plan(source, whole, (spec.width, max(1, spec.width * height // width)))
        return _Plan(source, whole, (max(1, spec.height * width // height), spec.height))
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
        # For example a strip of 1 by 10,000 at a width of 4,096.
        raise BadImage("The thumb of this picture would be too large.")
    return width, height


def _coarse_size(image: Image.Image, plan: _Plan) -> tuple[int, int]:
    """Twice the thumbnail's size, for speed: JPEG is decoded at it, others are reduced to it."""
    left, top, right, bottom = plan.box
    scale = 2 * max(plan.size[0] / (right - left), plan.size[1] / (bottom - top))
    return max(1, round(image.width * scale)), max(1, round(image.height * scale))


def _resized(image: Image.Image, plan: _Plan) -> Image.Image:
    coarse = _resizable(image)
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


def _resizable(image: Image.Image) -> Image.Image:
    """In a mode that can be resampled and saved in every format."""
    if image.mode in ("RGB", "RGBA", "L"):
        return image
    if image.mode.startswith("I"):
        # 16 bits of grey; a plain conversion would clip every value at 255.
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
def _open(file: BinaryIO, formats: tuple[str, ...]) -> Iterator[Image.Image]:
    file.seek(0)
    try:
        # Not as a context manager, which would close the caller's file.
        image = Image.open(file, formats=formats)
        _refuse_larger(image, MAX_PIXELS)
        yield image
    except BadImage:
        raise
    except MemoryError as error:
        # The machine's fault, not the file's: a retry may succeed.
        raise Unavailable from error
    except Exception as error:
        # Decoders raise many kinds of errors (OSError, SyntaxError, struct.error, IndexError,
        # zlib.error, Pillow's bomb errors ...).
        raise BadImage("The file is not a picture that can be read.") from error


def _refuse_larger(image: Image.Image, pixels: int) -> None:
    if image.width * image.height > pixels:
        raise BadImage(f"The picture has more than {pixels // 1_000_000} million pixels.")


def _shown_size(image: Image.Image) -> tuple[int, int]:
    if image.format == "PNG" and "exif" not in image.info:
        # Pillow would decode the whole picture to find it after the pixels.
        return image.size
    is_rotated = image.getexif().get(_EXIF_ORIENTATION) in _QUARTER_TURNS
    return (image.height, image.width) if is_rotated else image.size
