"""Detects the type of a file from its first bytes; the client's declaration is ignored.

Markup of any kind is detected whatever the file's name, so that it is never shown inline. Libraries
know hundreds of formats, but not this rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

HEAD_BYTES = 4096
"""How much of a file's start `sniff` reads."""

OCTETS = "application/octet-stream"
TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"
XML = "application/xml"
SVG = "image/svg+xml"

EXTENSIONS = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "image/avif": ".avif",
    "image/heic": ".heic",
    "image/bmp": ".bmp",
    "image/x-icon": ".ico",
    "image/tiff": ".tiff",
    SVG: ".svg",
    "application/pdf": ".pdf",
    "audio/mpeg": ".mp3",
    "audio/mp4": ".m4a",
    "audio/ogg": ".ogg",
    "audio/wav": ".wav",
    "audio/flac": ".flac",
    "audio/aac": ".aac",
    "video/mp4": ".mp4",
    "video/quicktime": ".mov",
    "video/webm": ".webm",
    "video/x-matroska": ".mkv",
    "video/ogg": ".ogv",
    "video/x-msvideo": ".avi",
    "application/zip": ".zip",
    "application/epub+zip": ".epub",
    "application/gzip": ".gz",
    "application/x-7z-compressed": ".7z",
    "application/vnd.rar": ".rar",
    "font/woff": ".woff",
    "font/woff2": ".woff2",
    "application/json": ".json",
    HTML: ".html",
    XML: ".xml",
    TEXT: ".txt",
}
"""The usual extension of each type, for files without one."""


def sniff(head: bytes, filename: str = "") -> str:
    """The content type of a file that starts with `head`.

    The name only distinguishes kinds of inert text (CSV, Markdown).
    """
    head = head[:HEAD_BYTES]
    return _by_magic(head) or _as_text(head, filename) or OCTETS


def _by_magic(head: bytes) -> str | None:
    for offset, magic, found in _MAGIC:
        if head.startswith(magic, offset):
            return found if isinstance(found, str) else found(head)
    return None


def _riff(head: bytes) -> str | None:
    return _RIFF.get(head[8:12])


def _iso_media(head: bytes) -> str:
    size = int.from_bytes(head[:4])
    brands = [head[8:12], *(head[at : at + 4] for at in range(16, min(size, 128), 4))]
    return next((found for brand, found in _BRANDS.items() if brand in brands), "video/mp4")


def _ebml(head: bytes) -> str:
    return "video/webm" if b"webm" in head[:64] else "video/x-matroska"


def _ogg(head: bytes) -> str:
    return "video/ogg" if b"theora" in head[:256] else "audio/ogg"


def _zip(head: bytes) -> str:
    if head.startswith(b"mimetypeapplication/epub+zip", 30):
        return "application/epub+zip"
    return next((found for name, found in _OFFICE.items() if name in head), "application/zip")


def _bitmap(head: bytes) -> str | None:
    # "BM" alone may begin a text; a real header has four empty reserved bytes.
    return "image/bmp" if len(head) >= 26 and head[6:10] == bytes(4) else None


_MAGIC: list[tuple[int, bytes, str | Callable[[bytes], str | None]]] = [
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (0, b"RIFF", _riff),
    (4, b"ftyp", _iso_media),
    (0, b"BM", _bitmap),
    (0, b"\0\0\1\0", "image/x-icon"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"ID3\2", "audio/mpeg"),
    (0, b"ID3\3", "audio/mpeg"),
    (0, b"ID3\4", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"\xff\xf3", "audio/mpeg"),
    (0, b"\xff\xf2", "audio/mpeg"),
    (0, b"\xff\xf1", "audio/aac"),
    (0, b"\xff\xf9", "audio/aac"),
    (0, b"fLaC", "audio/flac"),
    (0, b"OggS", _ogg),
    (0, b"\x1aE\xdf\xa3", _ebml),
    (0, b"PK\3\4", _zip),
    (0, b"PK\5\6", "application/zip"),
    (0, b"\x1f\x8b\x08", "application/gzip"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (0, b"Rar!\x1a\x07", "application/vnd.rar"),
    (0, b"wOFF", "font/woff"),
    (0, b"wOF2", "font/woff2"),
]
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}
_BRANDS = {
    b"avif": "image/avif",
    b"avis": "image/avif",
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"mif1": "image/heic",
    b"M4A ": "audio/mp4",
    b"M4B ": "audio/mp4",
    b"qt  ": "video/quicktime",
}
_OFFICE = {
    b"word/": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    b"xl/": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    b"ppt/": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}


def _as_text(head: bytes, filename: str) -> str | None:
    text, charset = _decoded(head)
    if text is None or _CONTROL.search(text):
        # Binary, but a sniffing browser might still find the markup in it.
        return HTML if _MARKUP_START.match(head.decode("latin-1")) else None
    if markup := _markup(text):
        return markup
    if text[:1] in ("{", "[") and _is_json(head):
        return "application/json"
    kind = _INERT_TEXT.get(filename[filename.rfind(".") :].lower(), "text/plain")
    return f"{kind}; charset={charset}"


def _decoded(head: bytes) -> tuple[str | None, str]:
    charset = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
    for cut in range(4):
        # The head may end in the middle of a character.
        try:
            return head[: len(head) - cut].decode(charset).removeprefix("\ufeff"), charset
        except UnicodeDecodeError:
            if len(head) < HEAD_BYTES:
                break
    return None, charset


def _markup(text: str) -> str | None:
    if not _MARKUP_START.match(text):
        return None
    root = _ROOT.match(text)
    if root is None:
        # A prolog longer than the head, or without an end.
        return XML if text.lstrip().startswith("<?") else HTML
    # The root element decides: HTML with an SVG inside is HTML, SVG with HTML inside is cleaned.
    name = root["name"].lower().rpartition(":")[2]
    if name == "svg":
        return SVG
    is_xml = text.lstrip().startswith("<?") and name != "html"
    return XML if is_xml else HTML


# Comments, instructions and the doctype, then the first element; unclosed ones are cheap.
_ROOT = re.compile(
    r"""(?:\ufeff|\s|<!--.*?-->|<\?.*?\?>|<![^-\[<>][^\[<>]*+(?:\[[^\]]*+\]\s*+)?>)*+"""
    r"""<(?P<name>[a-zA-Z][^\s/>]*+)""",
    re.DOTALL,
)
# The start of an HTML or XML document: a tag, a comment, a doctype or an instruction.
_MARKUP_START = re.compile(r"(?:\ufeff|ï»¿)?\s*<[a-zA-Z!?/]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")
_INERT_TEXT = {".csv": "text/csv", ".md": "text/markdown"}


def _is_json(head: bytes) -> bool:
    try:
        msgspec.json.decode(head, type=msgspec.Raw)
    except RecursionError:
        return False
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        # Of a longer file only the head is parsed, so a missing end is no error.
        return len(head) >= HEAD_BYTES and "truncated" in str(error)
    return True
