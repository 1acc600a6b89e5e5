"""Draws the picture that other sites show for a post without a picture: the site's name, the title
and the accent colour, in the site's own fonts. The functions block."""

from __future__ import annotations

import io
import re
import unicodedata
from bisect import bisect
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageDraw, ImageFont

from masthead.features.site.accent import readable

SIZE = (1200, 630)
"""As Open Graph's readers want it."""
DRAWING = "1"
"""Changes with every change of the drawing, so that old pictures are no longer shown."""
_STATIC = Path(__file__).parent / "themes" / "plain" / "static"
_PAPER, _INK, _ACCENT = "#fdfcf9", "#1d1b18", "#8f1d2c"
_MARGIN = 84
_NAME_SIZE = 44
_TITLE_SIZES = (92, 80, 70, 60, 52, 46)
_MAX_LINES = 5
_LINE_HEIGHT = 1.16
_MEDIUM = 500
_IGNORED = ("Cc", "Cf", "Cs", "So", "Sk")
"""Categories of characters that a title reads well without: controls, and emoji."""


class _Face(NamedTuple):
    """A file of a font, which has the glyphs of some scripts."""

    file: str
    ranges: tuple[tuple[int, int], ...]

    def has(self, character: str) -> bool:
        return any(first <= ord(character) <= last for first, last in self.ranges)


def can_draw(text: str) -> bool:
    """Whether the fonts have every character that must not be left out."""
    drawn = _drawn(text)
    return bool(drawn) and all(each == " " or _face(each) for each in drawn)


def draw(site_name: str, title: str, accent: str) -> bytes:
    """A PNG. A title or name that can't be drawn is left out."""
    image = Image.new("RGB", SIZE, _PAPER)
    canvas = ImageDraw.Draw(image)
    colour = readable(accent)[0] if accent else _ACCENT
    canvas.rectangle((0, 0, SIZE[0], 18), fill=colour)
    name = _drawn(site_name) if can_draw(site_name) else ""
    if can_draw(title):
        bottom = _draw_title(canvas, _drawn(title))
        canvas.rectangle((_MARGIN, bottom + 34, _MARGIN + 96, bottom + 38), fill=colour)
        [line] = _wrapped(name, _NAME_SIZE, 1) if name else [""]
        _draw_line(canvas, (_MARGIN, SIZE[1] - 70), line, _NAME_SIZE, colour=colour)
    elif name:
        _draw_title(canvas, name)
    out = io.BytesIO()
    # A page of few colours is a third of the bytes with a palette.
    image.quantize(64).save(out, "PNG", optimize=True)
    return out.getvalue()


def _draw_title(canvas: ImageDraw.ImageDraw, title: str) -> int:
    """In the largest size that fits; returns the position below its last line."""
    for size in _TITLE_SIZES:
        lines = _wrapped(title, size, _MAX_LINES)
        is_whole = not lines[-1].endswith("…") or title.endswith("…")
        if is_whole and len(lines) * size * _LINE_HEIGHT <= 360:
            break
    step = round(size * _LINE_HEIGHT)
    baseline = _MARGIN + size
    for line in lines:
        _draw_line(canvas, (_MARGIN, baseline), line, size, colour=_INK)
        baseline += step
    return baseline - step + round(size * 0.2)


def _draw_line(
    canvas: ImageDraw.ImageDraw, at: tuple[int, int], line: str, size: int, *, colour: str
) -> None:
    x = float(at[0])
    for file, run in _runs(line):
        font = _font(file, size)
        canvas.text((x, at[1]), run, fill=colour, font=font, anchor="ls")
        x += font.getlength(run)


def _width(text: str, size: int) -> float:
    return sum(_font(file, size).getlength(run) for file, run in _runs(text))


def _wrapped(text: str, size: int, most: int) -> list[str]:
    """Lines that fit, at most so many; the last one ends in … where something is missing."""
    room = float(SIZE[0] - 2 * _MARGIN)
    fits: Callable[[str], bool] = lambda line: _width(line, size) <= room  # noqa: E731
    lines, left = [""], text.split(" ")
    while left:
        longer = f"{lines[-1]} {left[0]}".strip()
        if fits(longer):
            lines[-1] = longer
            left.pop(0)
        elif not lines[-1]:
            # A word that is longer than the line: as much of it as fits.
            word = left[0]
            ends = range(1, len(word) + 1)
            count = max(1, bisect(ends, room, key=lambda end: _width(word[:end], size)))
            lines[-1], left[0] = word[:count], word[count:]
        elif len(lines) == most:
            return [*lines[:-1], _ending(lines[-1], fits)]
        else:
            lines.append("")
    return lines


def _ending(line: str, fits: Callable[[str], bool]) -> str:
    while line and not fits(f"{line}…"):
        line = line[:-1]
    return f"{line.rstrip(' ,;:.–-')}…"


def _drawn(text: str) -> str:
    """Composed, without emoji and controls, and with single blanks."""
    composed = unicodedata.normalize("NFC", text)
    shown = "".join(
        " " if each.isspace() else each
        for each in composed
        if each.isspace() or unicodedata.category(each) not in _IGNORED
    )
    return " ".join(shown.split())


def _runs(text: str) -> Sequence[tuple[str, str]]:
    """The text in pieces, each with the file that has its glyphs."""
    runs: list[tuple[str, str]] = []
    for character in text:
        face = _face(character)
        file = face.file if face else (runs[-1][0] if runs else _faces()[0].file)
        if runs and runs[-1][0] == file:
            runs[-1] = (file, runs[-1][1] + character)
        else:
            runs.append((file, character))
    return runs


@lru_cache(maxsize=1_024)
def _face(character: str) -> _Face | None:
    return next((face for face in _faces() if face.has(character)), None)


@cache
def _faces() -> tuple[_Face, ...]:
    """The upright files of the serif font, as the style sheet names them."""
    sheet = (_STATIC / "fonts.css").read_text()
    found = re.findall(
        r'font-family: Literata;\s*src: url\("([^"]+)"\)[^}]*?unicode-range:\s*([^;]+);', sheet
    )
    return tuple(
        _Face(file, tuple(map(_range, ranges.split(","))))
        for file, ranges in found
        if "italic" not in file
    )


def _range(text: str) -> tuple[int, int]:
    first, _, last = text.strip().removeprefix("U+").partition("-")
    return int(first, 16), int(last or first, 16)


@cache
def _font(file: str, size: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.truetype(_STATIC / file, size)
    font.set_variation_by_axes([_MEDIUM])
    return font
