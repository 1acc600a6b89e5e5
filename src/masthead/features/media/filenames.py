"""The stored name and the display name of an upload.

The stored name is readable, ASCII and unique: `Hello World.txt` becomes
`hello_world_47r13hicyn.txt`, as in PocketBase. It needs no quoting in an object key, a URL or a
header.
"""

from __future__ import annotations

import re

from anyascii import anyascii

from masthead.base.ids import new_id
from masthead.features.media.sniff import EXTENSIONS

RANDOM_LENGTH = 10
MIN_STEM = 3
MAX_STEM = 100
MAX_EXTENSION = 20
MAX_DISPLAY_NAME = 255

_MAX_INPUT = 1000
_DOUBLE_EXTENSIONS = re.compile(r"\.tar\.[A-Za-z0-9]+\Z")


def stored_name(filename: str, content_type: str = "") -> str:
    """A new name for the client's `filename`.

    The sniffed `content_type` gives the extension of a name without one.
    """
    stem, extension = _split(_basename(filename))
    extension = _clean_extension(extension) or EXTENSIONS.get(content_type, "")
    stem = snake_case(stem)
    if len(stem) < MIN_STEM:
        stem += _random()
    return f"{stem[:MAX_STEM].rstrip('_')}_{_random()}{extension}"


def display_name(filename: str) -> str:
    """The client's name of the file, without folders and limited in length; may be empty."""
    name = _basename(filename).strip()
    if len(name) <= MAX_DISPLAY_NAME:
        return name
    stem, extension = _split(name)
    extension = extension[: MAX_EXTENSION + 1]
    return stem[: MAX_DISPLAY_NAME - len(extension)] + extension


def snake_case(text: str) -> str:
    """`HelloWörld 2` → `hello_world_2`."""
    words = re.findall(r"[A-Za-z0-9]+", anyascii(text))
    spaced = (re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word) for word in words)
    return "_".join(spaced).lower()


def _basename(filename: str) -> str:
    """The last part of a Unix or Windows path, without invisible characters."""
    name = re.split(r"[/\\]", filename[-_MAX_INPUT:])[-1]
    # Controls, zero-width characters and direction overrides ("gpj.exe" shown as "exe.jpg").
    return "".join(character for character in name if character.isprintable())


def _split(name: str) -> tuple[str, str]:
    if double := _DOUBLE_EXTENSIONS.search(name):
        return name[: double.start()], double[0]
    stem, dot, extension = name.rpartition(".")
    return (stem, dot + extension) if dot else (name, "")


def _clean_extension(extension: str) -> str:
    cleaned = re.sub(r"[^a-z0-9.]", "", anyascii(extension).lower()).strip(".")
    return f".{cleaned[-MAX_EXTENSION:].lstrip('.')}" if cleaned else ""


def _random() -> str:
    return new_id()[:RANDOM_LENGTH]
