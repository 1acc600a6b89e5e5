"""Dimensions and thumbnails of pictures, and refusing dangerous ones."""

from __future__ import annotations

import asyncio
import io
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from tests.features.media.pictures import (
    exif,
    picture,
    png,
    png_bomb,
    saved,
    with_frame_larger_than_screen,
)
from tests.tiers import rounds
from tests.work import at_most

from masthead.base.errors import Unavailable
from masthead.features.media.images import (
    MAX_PIXELS,
    MAX_PIXELS_OF,
    BadImage,
    Crop,
    ImagePool,
    ThumbSpec,
    dimensions,
    make_thumb,
    parse_thumb,
)

RED, BLUE = (255, 0, 0), (0, 0, 255)


def thumb(source: bytes, spec: str) -> Image.Image:
    parsed = parse_thumb(spec)
    assert parsed is not None
    image = Image.open(io.BytesIO(make_thumb(io.BytesIO(source), parsed)))
    image.load()
    return image


def is_near(pixel: object, colour: tuple[int, int, int]) -> bool:
    assert isinstance(pixel, tuple)
    return all(abs(a - b) < 60 for a, b in zip(pixel, colour, strict=False))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "AVIF", "BMP", "MPO"])
def test_a_picture_has_dimensions(kind: str) -> None:
    assert dimensions(io.BytesIO(picture(kind, (64, 48)))) == (64, 48)


@pytest.mark.parametrize(("orientation", "size"), [(1, (64, 48)), (3, (64, 48)), (6, (48, 64))])
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_dimensions_are_those_shown(kind: str, orientation: int, size: tuple[int, int]) -> None:
    source = picture(kind, (64, 48), exif=exif(orientation=orientation))
    assert dimensions(io.BytesIO(source)) == size


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"plain text",
        b"<svg xmlns='http://www.w3.org/2000/svg' width='5' height='5'/>",
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff\xe0",
        b"RIFF\xff\xff\xff\xffWEBPVP8X",
        png(0, 0),
        png_bomb(),
        png_bomb(MAX_PIXELS // 1000 + 1, 1000),
        with_frame_larger_than_screen(),
        saved(Image.new("RGB", (4, 4)), "TIFF"),
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n",
    ],
)
def test_an_undecodable_file_has_neither_dimensions_nor_thumbnail(source: bytes) -> None:
    with at_most(2):
        assert dimensions(io.BytesIO(source)) is None
        with pytest.raises(BadImage):
            make_thumb(io.BytesIO(source), ThumbSpec(10, 10))


def test_the_largest_allowed_picture_has_dimensions_without_being_decoded() -> None:
    bomb = io.BytesIO(png_bomb(8000, MAX_PIXELS // 8000))
    with at_most(1):
        assert dimensions(bomb) == (8000, MAX_PIXELS // 8000)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_truncated_picture_is_refused(kind: str) -> None:
    noise = saved(Image.effect_noise((200, 200), 90).convert("RGB"), kind)
    for share in (0.1, 0.5, 0.9):
        with pytest.raises(BadImage):
            make_thumb(io.BytesIO(noise[: int(len(noise) * share)]), ThumbSpec(10, 10))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("100x50", ThumbSpec(100, 50)),
        ("100x50t", ThumbSpec(100, 50, Crop.TOP)),
        ("100x50b", ThumbSpec(100, 50, Crop.BOTTOM)),
        ("100x50f", ThumbSpec(100, 50, Crop.FIT)),
        ("0x50", ThumbSpec(0, 50)),
        ("100x0", ThumbSpec(100, 0)),
        ("100x0t", ThumbSpec(100, 0)),
        ("0100x050", ThumbSpec(100, 50)),
        ("4096x4096", ThumbSpec(4096, 4096)),
        ("4097x10", None),
        ("10x99999", None),
        ("0x0", None),
        ("", None),
        ("100", None),
        ("100x", None),
        ("x100", None),
        ("-1x100", None),
        ("100x100z", None),
        ("100x100\n", None),
        ("100X100", None),
        ("١٠x١٠", None),
        ("1.5x2", None),
    ],
)
def test_thumb_sizes_are_parsed(text: str, expected: ThumbSpec | None) -> None:
    assert parse_thumb(text) == expected


def test_a_spec_prints_as_requested() -> None:
    assert [str(parse_thumb(t)) for t in ("10x20t", "10x20", "0x5")] == ["10x20t", "10x20", "0x5"]


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
@pytest.mark.parametrize(
    ("spec", "size"),
    [
        ("20x20", (20, 20)),
        ("20x20t", (20, 20)),
        ("20x20b", (20, 20)),
        ("20x20f", (20, 15)),
        ("500x500f", (64, 48)),
        ("0x24", (32, 24)),
        ("32x0", (32, 24)),
        ("128x0", (128, 96)),
        ("200x10", (200, 10)),
        ("1x1", (1, 1)),
    ],
)
def test_thumbnails_have_the_requested_size_and_the_sources_format(
    kind: str, spec: str, size: tuple[int, int]
) -> None:
    image = thumb(picture(kind), spec)
    assert (image.size, image.format) == (size, kind)


def test_an_mpo_gives_a_plain_jpeg() -> None:
    assert thumb(picture("MPO"), "20x20").format == "JPEG"


@pytest.mark.parametrize(
    ("spec", "top_left", "bottom_left"),
    [("60x20t", RED, RED), ("60x20b", BLUE, BLUE), ("60x20", RED, BLUE), ("60x60f", RED, BLUE)],
)
def test_crops_keep_the_requested_part(
    spec: str, top_left: tuple[int, int, int], bottom_left: tuple[int, int, int]
) -> None:
    image = thumb(picture("PNG", (60, 60)), spec).convert("RGB")
    assert is_near(image.getpixel((3, 2)), top_left)
    assert is_near(image.getpixel((3, image.height - 3)), bottom_left)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize(("orientation", "corner"), [(1, (2, 2)), (3, (-3, -3)), (6, (-3, 2))])
def test_thumbnails_are_upright(kind: str, orientation: int, corner: tuple[int, int]) -> None:
    source = picture(kind, (80, 40), exif=exif(orientation=orientation))
    image = thumb(source, "40x0").convert("RGB")
    assert image.size == ((40, 80) if orientation == 6 else (40, 20))
    x, y = corner[0] % image.width, corner[1] % image.height
    assert is_near(image.getpixel((x, y)), RED)
    assert not is_near(image.getpixel((image.width - 1 - x, image.height - 1 - y)), RED)


def test_a_thumbnail_has_no_metadata() -> None:
    made = make_thumb(io.BytesIO(picture("JPEG", exif=exif())), ThumbSpec(20, 20))
    assert not dict(Image.open(io.BytesIO(made)).getexif())
    assert b"Camera" not in made


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        ("1", "PNG"),
        ("L", "PNG"),
        ("LA", "PNG"),
        ("P", "PNG"),
        ("RGBA", "PNG"),
        ("I;16", "PNG"),
        ("L", "JPEG"),
        ("CMYK", "JPEG"),
        ("RGBA", "WEBP"),
        ("P", "GIF"),
        ("L", "GIF"),
    ],
)
def test_every_mode_of_pixels_gives_a_thumb(mode: str, kind: str) -> None:
    assert thumb(saved(Image.new(mode, (30, 30)), kind), "10x10").size == (10, 10)


def test_deep_grey_keeps_its_brightness() -> None:
    image = thumb(saved(Image.new("I;16", (30, 30), 0x4000), "PNG"), "10x10")
    assert image.convert("L").getpixel((5, 5)) == 0x40


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "GIF"])
def test_transparency_stays(kind: str) -> None:
    source = saved(Image.new("RGBA", (30, 30), (0, 0, 0, 0)), kind)
    assert thumb(source, "10x10").convert("RGBA").getpixel((5, 5))[3] == 0  # type: ignore[index]


def test_an_animation_gives_its_first_frame() -> None:
    frames = [Image.new("RGB", (30, 30), colour) for colour in ("red", "blue")]
    source = saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    image = thumb(source, "10x10")
    assert getattr(image, "n_frames", 1) == 1
    assert is_near(image.convert("RGB").getpixel((5, 5)), RED)


@pytest.mark.parametrize("kind", ["PNG", "GIF", "WEBP"])
def test_formats_that_are_decoded_whole_have_a_lower_limit(kind: str) -> None:
    height = MAX_PIXELS_OF[kind] // 10_000 + 1
    source = saved(Image.new("P", (10_000, height)), kind, method=0)
    assert dimensions(io.BytesIO(source)) == (10_000, height)
    with pytest.raises(BadImage, match="million"):
        make_thumb(io.BytesIO(source), ThumbSpec(10, 10))


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
@pytest.mark.parametrize("orientation", [1, 6])
def test_a_large_photo_is_cropped_where_a_small_one_is(kind: str, orientation: int) -> None:
    source = picture(kind, (1999, 1001), exif=exif(orientation=orientation))
    image = thumb(source, "40x40t").convert("RGB")
    red, blue = ((3, 3), (36, 3)) if orientation == 1 else ((36, 3), (3, 3))
    assert is_near(image.getpixel(red), RED)
    assert is_near(image.getpixel(blue), BLUE)


def test_a_narrow_strip_is_not_enlarged_beyond_the_limit() -> None:
    with pytest.raises(BadImage):
        make_thumb(io.BytesIO(picture("PNG", (2, 9000))), ThumbSpec(4096, 0))


@settings(max_examples=rounds(60, 450), deadline=None)
@given(
    st.sampled_from(["PNG", "JPEG", "GIF", "WEBP"]), st.integers(0, 10_000), st.binary(max_size=8)
)
def test_a_damaged_picture_gives_a_thumbnail_or_bad_image(kind: str, at: int, junk: bytes) -> None:
    source = bytearray(_SOURCES[kind])
    at %= len(source)
    source[at : at + len(junk)] = junk
    try:
        made = make_thumb(io.BytesIO(bytes(source)), ThumbSpec(10, 10))
    except BadImage:
        return
    assert Image.open(io.BytesIO(made)).size == (10, 10)


_SOURCES = {kind: picture(kind) for kind in ("PNG", "JPEG", "GIF", "WEBP")}


async def test_the_pool_does_not_block_the_loop_and_refuses_when_full() -> None:
    pool = ImagePool(threads=1, max_waiting=1)
    gate = threading.Event()
    try:
        first = asyncio.create_task(pool.run(gate.wait, 60))
        second = asyncio.create_task(pool.run(dimensions, io.BytesIO(picture("PNG"))))
        await asyncio.sleep(0)
        with pytest.raises(Unavailable):
            await pool.run(dimensions, io.BytesIO(b""))
        gate.set()
        assert await first is True
        assert await second == (64, 48)
        assert await pool.run(dimensions, io.BytesIO(b"")) is None
    finally:
        gate.set()
        pool.close()


async def test_a_cancelled_caller_waits_until_its_file_is_free() -> None:
    pool = ImagePool(threads=1, max_waiting=1)
    has_begun, gate, is_done = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        has_begun.set()
        gate.wait(60)
        is_done.set()

    try:
        task = asyncio.create_task(pool.run(work))
        await asyncio.to_thread(has_begun.wait, 60)
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
        gate.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert is_done.is_set()
    finally:
        gate.set()
        pool.close()
