"""SVG uploads: scripts and external references are removed, or the file is refused."""

from __future__ import annotations

import io

import pytest
from tests.work import at_most

from masthead.features.media.svg import MAX_BYTES, MAX_DEPTH, UnsafeSvg, clean_svg, svg_size

XMLNS = 'xmlns="http://www.w3.org/2000/svg"'


def svg(inside: str = "", attributes: str = "") -> bytes:
    return f"<svg {XMLNS} {attributes}>{inside}</svg>".encode()


def cleaned(data: bytes) -> str:
    return clean_svg(io.BytesIO(data)).decode()


@pytest.mark.parametrize(
    ("inside", "forbidden"),
    [
        ("<script>alert(1)</script>", "alert"),
        ("<script href='https://evil.example/x.js'/>", "evil"),
        ("<rect onclick='alert(1)' width='1'/>", "alert"),
        (
            "<foreignObject><p xmlns='http://www.w3.org/1999/xhtml'>words</p></foreignObject>",
            "words",
        ),
        ("<a href='javascript:alert(1)'><text>x</text></a>", "javascript"),
        ("<a href='data:text/html,alert(1)'><text>x</text></a>", "alert"),
        ("<image href='https://evil.example/x.png'/>", "evil"),
        ("<image href='data:image/svg+xml;base64,PHN2Zy8+'/>", "base64"),
        ("<use href='https://evil.example/x.svg#a'/>", "evil"),
        ("<rect fill='url(https://evil.example/#g)'/>", "evil"),
        ("<rect style='fill:url(https://evil.example/#g)'/>", "evil"),
        ("<animate attributeName='href' values='javascript:alert(1)'/>", "attributeName"),
        ("<x:script xmlns:x='http://www.w3.org/1999/xhtml'>alert(1)</x:script>", "alert"),
        ("<iframe src='https://evil.example'/>", "evil"),
    ],
)
def test_scripts_and_external_references_are_removed(inside: str, forbidden: str) -> None:
    assert forbidden not in cleaned(svg(inside + "<rect id='kept'/>"))


def test_handlers_on_the_root_and_external_style_sheets_are_removed() -> None:
    sheet = b"<?xml version='1.0'?><?xml-stylesheet href='https://evil.example/x.css'?>"
    out = cleaned(sheet + svg("<rect/>", "onload='alert(1)'"))
    assert "alert" not in out
    assert "evil" not in out


def test_entities_can_not_hide_a_script() -> None:
    doctype = b'<!DOCTYPE svg [<!ENTITY e "<script>alert(1)</script>">]>'
    assert "script" not in cleaned(doctype + svg("<g>&e;</g>"))


def test_the_drawing_stays() -> None:
    gradient = "<defs><linearGradient id='g'><stop offset='0'/></linearGradient></defs>"
    out = cleaned(svg(gradient + "<path d='M0 0L9 9' fill='url(#g)'/><text>Grüße</text>"))
    for part in ('id="g"', 'd="M0 0L9 9"', 'fill="url(#g)"', "Grüße"):
        assert part in out


def test_embedded_raster_pictures_stay() -> None:
    assert "data:image/png;base64,AAAA" in cleaned(
        svg("<image href='data:image/png;base64,AAAA'/>")
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<svg",
        svg("<g>"),
        b"<svg><rect/></svg>",
        b"<html><svg " + XMLNS.encode() + b"/></html>",
        b'<s:svg xmlns:s="http://www.w3.org/2000/svg"/>',
        b"<?xml version='1.0' encoding='nonsense'?>" + svg(),
        svg("<g>" * MAX_DEPTH + "</g>" * MAX_DEPTH),
        svg(" " * MAX_BYTES),
        svg("<rect x='&undefined;'/>"),
    ],
)
def test_a_file_that_can_not_be_cleaned_is_refused(data: bytes) -> None:
    with pytest.raises(UnsafeSvg):
        cleaned(data)


def test_nested_entity_expansion_is_refused_at_once() -> None:
    entities = '<!ENTITY a "xxxxxxxxxx">' + "".join(
        f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(10)
    )
    with at_most(5), pytest.raises(UnsafeSvg):
        cleaned(f"<!DOCTYPE svg [{entities}]>".encode() + svg("<text>&k;</text>"))


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("width='120' height='80'", (120, 80)),
        ("width='120px' height='80.4px'", (120, 80)),
        ("width='1in' height='2.54cm'", (96, 96)),
        ("viewBox='0 0 300 150'", (300, 150)),
        ("viewBox='0,0,300,150' width='600'", (600, 300)),
        ("viewBox='0 0 300 150' height='75'", (150, 75)),
        ("viewBox='0 0 300 150' width='100%' height='100%'", (300, 150)),
        ("width='100%' height='100%'", None),
        ("viewBox='0 0 0 150'", None),
        ("viewBox='0 0 -3 150'", None),
        ("width='1e9' height='2'", None),
        ("", None),
    ],
)
def test_the_size_is_read_from_the_root(attributes: str, expected: tuple[int, int] | None) -> None:
    assert (
        svg_size(clean_svg(io.BytesIO(svg("<rect width='7' height='7'/>", attributes)))) == expected
    )
