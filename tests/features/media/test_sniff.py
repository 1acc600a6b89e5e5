"""Types by content: markup is detected under any name, and unknown types stay inert."""

from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from masthead.features.media.sniff import EXTENSIONS, HEAD_BYTES, sniff
from masthead.web.files import SAFE_INLINE, is_safe_inline

ACTIVE = ("text/html", "image/svg+xml", "application/xml", "text/xml", "application/xhtml+xml")


def picture(kind: str) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (16, 16), "red").save(out, kind)
    return out.getvalue()


def archive(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name in names:
            # Without the time of day, which would be part of the test's name.
            file.writestr(zipfile.ZipInfo(name), "x")
    return out.getvalue()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("PNG", "image/png"),
        ("JPEG", "image/jpeg"),
        ("GIF", "image/gif"),
        ("WEBP", "image/webp"),
        ("AVIF", "image/avif"),
        ("BMP", "image/bmp"),
        ("ICO", "image/x-icon"),
        ("TIFF", "image/tiff"),
        ("PDF", "application/pdf"),
    ],
)
def test_pictures_are_recognised(kind: str, expected: str) -> None:
    assert sniff(picture(kind)) == expected


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"ID3\x04\0\0", "audio/mpeg"),
        (b"\xff\xfb\x90\x64", "audio/mpeg"),
        (b"RIFF\x24\0\0\0WAVEfmt ", "audio/wav"),
        (b"OggS\0\x02" + b"\0" * 22 + b"\x01vorbis", "audio/ogg"),
        (b"OggS\0\x02" + b"\0" * 22 + b"\x80theora", "video/ogg"),
        (b"\0\0\0\x18ftypmp42\0\0\0\0isommp42", "video/mp4"),
        (b"\0\0\0\x20ftypM4A \0\0\0\0isommp42", "audio/mp4"),
        (b"\0\0\0\x14ftypqt  \0\0\0\0qt  ", "video/quicktime"),
        (b"\0\0\0\x1cftypmif1\0\0\0\0mif1avif", "image/avif"),
        (b"\0\0\0\x1cftypmif1\0\0\0\0mif1heic", "image/heic"),
        (b"\x1aE\xdf\xa3\x9fB\x86\x81\x01B\x82\x84webm", "video/webm"),
        (b"\x1aE\xdf\xa3\x9fB\x86\x81\x01B\x82\x88matroska", "video/x-matroska"),
        (archive("a.txt"), "application/zip"),
        (
            archive("[Content_Types].xml", "word/document.xml"),
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ),
        (b"\x1f\x8b\x08\0", "application/gzip"),
        (b"%PDF-1.7\n", "application/pdf"),
        (b'{"a": [1, 2]}', "application/json"),
        (b'[{"a": "' + b"x" * HEAD_BYTES, "application/json"),
        (b"", "text/plain; charset=utf-8"),
        (b"plain words", "text/plain; charset=utf-8"),
        (b"{not json}", "text/plain; charset=utf-8"),
        ("Grüße".encode(), "text/plain; charset=utf-8"),
        (("é" * HEAD_BYTES).encode()[1:], "application/octet-stream"),
        (("x" + "é" * HEAD_BYTES).encode(), "text/plain; charset=utf-8"),
        ("Grüße".encode("utf-16"), "text/plain; charset=utf-16"),
        (b"BMW and other cars, at length", "text/plain; charset=utf-8"),
        (b"RIFFs and chords", "text/plain; charset=utf-8"),
        (b"if a < b then <script> is only a word", "text/plain; charset=utf-8"),
        (b"alert(1)", "text/plain; charset=utf-8"),
        (b"MZ\x90\0\x03\0", "application/octet-stream"),
        (b"\x7fELF\x02\x01", "application/octet-stream"),
        (b"[" * HEAD_BYTES, "text/plain; charset=utf-8"),
    ],
)
def test_a_type_is_detected_from_the_first_bytes(head: bytes, expected: str) -> None:
    assert sniff(head) == expected


@pytest.mark.parametrize(
    "content",
    [
        "<!DOCTYPE html><p>x",
        "<html><script>alert(1)</script>",
        "  \n\t<script>alert(1)</script>",
        "<!-- a picture, honestly --><img src=x onerror=alert(1)>",
        "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
        "<?xml version='1.0'?><!DOCTYPE svg><svg/>",
        "<?xml version='1.0'?><s:svg xmlns:s='http://www.w3.org/2000/svg'/>",
        "<?xml version='1.0'?><?xml-stylesheet href='x'?><a/>",
        "<!--" + "x" * 5000 + "--><svg>",
        "<a:script xmlns:a='http://www.w3.org/1999/xhtml'>",
        "<iframe src=javascript:alert(1)>",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("name", ["a.png", "a.csv", "a.txt", ""])
def test_markup_is_markup_under_any_name(content: str, encoding: str, name: str) -> None:
    found = sniff(content.encode(encoding), name)
    assert found.partition(";")[0] in ACTIVE
    assert not is_safe_inline(found)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<svg/>", "image/svg+xml"),
        ("<?xml version='1.0'?>\n<!-- made by hand -->\n<svg/>", "image/svg+xml"),
        ("<!DOCTYPE svg PUBLIC 'x' 'y' [<!ENTITY a 'b'>]><s:svg/>", "image/svg+xml"),
        ("<svg><foreignObject><html/></foreignObject></svg>", "image/svg+xml"),
        ("<!doctype html><html><svg/></html>", "text/html"),
        ("<p><svg/></p>", "text/html"),
        ("<!-- <svg> --><p>", "text/html"),
        ("<?xml version='1.0'?><html><svg/></html>", "text/html"),
        ("<?xml version='1.0'?><rss><svg/></rss>", "application/xml"),
        ("<!-- never closed <svg/>", "text/html"),
        ("<!" * 2000, "text/html"),
    ],
)
def test_markup_is_named_after_its_root(content: str, expected: str) -> None:
    assert sniff(content.encode()).partition(";")[0] == expected


def test_markup_with_binary_bytes_is_still_markup() -> None:
    assert sniff(b"<html>\0<script>alert(1)</script>\xff").startswith("text/html")


def test_a_name_only_distinguishes_kinds_of_inert_text() -> None:
    assert sniff(b"a,b\n1,2\n", "list.CSV") == "text/csv; charset=utf-8"
    assert sniff(b"# Title", "readme.md") == "text/markdown; charset=utf-8"
    assert sniff(b"alert(1)", "x.js") == "text/plain; charset=utf-8"
    assert sniff(b"alert(1)", "x.png") == "text/plain; charset=utf-8"
    assert sniff(b"\0\1\2", "x.csv") == "application/octet-stream"


def test_nothing_active_is_on_the_safe_list() -> None:
    assert not SAFE_INLINE & set(ACTIVE)
    assert not any("xml" in name or name.startswith("text/") for name in SAFE_INLINE)
    assert {name for name in SAFE_INLINE if name != "audio/webm"} <= set(EXTENSIONS)


@given(st.binary(max_size=200), st.text(max_size=20))
def test_random_bytes_have_some_type(head: bytes, name: str) -> None:
    assert "/" in sniff(head, name)
