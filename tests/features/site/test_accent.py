"""Any accent colour that a site chooses can be read, and keeps its hue."""

from __future__ import annotations

import colorsys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from masthead.features.site.accent import (
    DARK_GROUNDS,
    LIGHT_GROUNDS,
    NEEDED,
    contrast,
    readable,
    style_sheet,
)

colours = st.integers(0, 0xFFFFFF).map(lambda number: f"#{number:06x}")


@settings(deadline=None)
@given(colours)
def test_every_colour_becomes_readable_in_light_and_in_dark(colour: str) -> None:
    light, dark = readable(colour)
    assert min(contrast(light, ground) for ground in LIGHT_GROUNDS) >= NEEDED
    assert min(contrast(dark, ground) for ground in DARK_GROUNDS) >= NEEDED


@settings(deadline=None)
@given(colours)
def test_what_is_readable_already_stays(colour: str) -> None:
    light, dark = readable(colour)
    assert readable(light)[0] == light
    assert readable(dark)[1] == dark
    is_readable = min(contrast(colour, ground) for ground in LIGHT_GROUNDS) >= NEEDED
    assert (light == colour) is is_readable


@pytest.mark.parametrize("colour", ["#ff0000", "#ffe000", "#00ff40", "#0080ff", "#c000ff"])
def test_the_hue_stays(colour: str) -> None:
    for moved in readable(colour):
        turned = abs(hue(moved) - hue(colour)) * 360
        assert min(turned, 360 - turned) < 30


def hue(colour: str) -> float:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return colorsys.rgb_to_hls(red, green, blue)[0]


def test_black_on_white_has_the_highest_contrast() -> None:
    assert contrast("#000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#fff") == pytest.approx(4.48, abs=0.01)


def test_the_style_sheet_serves_old_browsers_too() -> None:
    light, dark = readable("#8f1d2c")
    assert light == "#8f1d2c"
    assert style_sheet("#8f1d2c") == (
        f":root{{--accent:light-dark({light},{dark})}}"
        f"@supports not (color:light-dark(#000,#fff)){{:root{{--accent:{light}}}}}\n"
    )
