"""A site's own accent colour, made readable: its hue stays, and its lightness moves until text in
it has enough contrast on every ground of the page, in light and in dark."""

from __future__ import annotations

import math

NEEDED = 4.5
"""WCAG 2.2 AA for text."""
LIGHT_GROUNDS = ("#fdfcf9", "#f5f2ea", "#ffffff")
DARK_GROUNDS = ("#171614", "#201e1b", "#292622")
"""Paper, sheet and raised of tokens.css."""

_STEP = 1 / 256
Linear = tuple[float, float, float]
"""Red, green and blue without gamma, from 0 to 1."""


def style_sheet(colour: str) -> str:
    """The content of a site's style sheet; `colour` is `#rgb` or `#rrggbb`."""
    light, dark = readable(colour)
    return (
        f":root{{--accent:light-dark({light},{dark})}}"
        "@supports not (color:light-dark(#000,#fff)){"
        f":root{{--accent:{light}}}}}\n"
    )


def readable(colour: str) -> tuple[str, str]:
    """The colour for light and for dark pages."""
    return _moved(colour, LIGHT_GROUNDS, -_STEP), _moved(colour, DARK_GROUNDS, _STEP)


def contrast(one: str, other: str) -> float:
    """WCAG's ratio, from 1 to 21."""
    brighter, darker = sorted((_luminance(_linear(one)), _luminance(_linear(other))), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def _moved(colour: str, grounds: tuple[str, ...], step: float) -> str:
    """The nearest lightness in the direction of `step` that is readable on all the grounds."""
    lightness, a, b = _oklab(_linear(colour))
    result = _hex(_linear(colour))
    while min(contrast(result, ground) for ground in grounds) < NEEDED:
        lightness += step
        result = _within_gamut(lightness, a, b)
    return result


def _within_gamut(lightness: float, a: float, b: float) -> str:
    """Less chroma where a screen can't show that much of it, so that the hue stays."""
    low, high = 0.0, 1.0
    if _is_shown(_rgb(lightness, a, b)):
        return _hex(_rgb(lightness, a, b))
    for _ in range(16):
        middle = (low + high) / 2
        if _is_shown(_rgb(lightness, a * middle, b * middle)):
            low = middle
        else:
            high = middle
    return _hex(_rgb(lightness, a * low, b * low))


def _is_shown(colour: Linear) -> bool:
    return all(-1e-4 <= part <= 1 + 1e-4 for part in colour)


def _linear(colour: str) -> Linear:
    digits = colour.removeprefix("#")
    if len(digits) == 3:
        digits = "".join(digit * 2 for digit in digits)
    red, green, blue = (_without_gamma(int(digits[at : at + 2], 16) / 255) for at in (0, 2, 4))
    return red, green, blue


def _without_gamma(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def _with_gamma(part: float) -> float:
    part = min(max(part, 0.0), 1.0)
    return part * 12.92 if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055


def _hex(colour: Linear) -> str:
    return "#" + "".join(f"{round(_with_gamma(part) * 255):02x}" for part in colour)


def _luminance(colour: Linear) -> float:
    red, green, blue = colour
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


# Björn Ottosson's OKLab.
def _oklab(colour: Linear) -> tuple[float, float, float]:
    red, green, blue = colour
    long = math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)
    middle = math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
    short = math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def _rgb(lightness: float, a: float, b: float) -> Linear:
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short,
    )
