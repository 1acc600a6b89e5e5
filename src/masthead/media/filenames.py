"""The names of an upload: the one it is stored under, and the one its sender knows it by.

The stored name is readable, ASCII, and never the same twice.

`Hello World.txt` becomes `hello_world_47r13hicyn.txt`, as PocketBase names it. The result is safe
as an object key, in a URL and in a header without any quoting.
"""

from __future__ import annotations

import re

from anyascii import anyascii

from masthead.ids import new_id
from masthead.media.sniff import EXTENSIONS

RANDOM_LENGTH = 10
SHORTEST_STEM = 3
LONGEST_STEM = 100
LONGEST_EXTENSION = 20
LONGEST_SHOWN = 255

_LONGEST_INPUT = 1000
_DOUBLE_EXTENSIONS = re.compile(r"\.tar\.[A-Za-z0-9]+\Z")


def stored_name(filename: str, content_type: str = "") -> str:
    """A new name for a file the client calls `filename`.

    `content_type`, as sniffed, gives the extension of a name that has none.
    """
    stem, extension = _split(_basename(filename))
    extension = _clean_extension(extension) or EXTENSIONS.get(content_type, "")
    stem = snake_case(stem)
    if len(stem) < SHORTEST_STEM:
        stem += _random()
    return f"{stem[:LONGEST_STEM].rstrip('_')}_{_random()}{extension}"


def shown_name(filename: str) -> str:
    """What the client calls the file, without folders and fit to be stored; may be empty."""
    name = _basename(filename).strip()
    if len(name) <= LONGEST_SHOWN:
        return name
    stem, extension = _split(name)
    extension = extension[: LONGEST_EXTENSION + 1]
    return stem[: LONGEST_SHOWN - len(extension)] + extension


def snake_case(text: str) -> str:
    """`HelloWörld 2` → `hello_world_2`."""
    words = re.findall(r"[A-Za-z0-9]+", anyascii(text))
    spaced = (re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word) for word in words)
    return "_".join(spaced).lower()


def _basename(filename: str) -> str:
    """The last part of a path of either kind, without what would be invisible or misleading."""
    name = re.split(r"[/\\]", filename[-_LONGEST_INPUT:])[-1]
    # Controls, zero-width characters and direction overrides ("gpj.exe" shown as "exe.jpg").
    return "".join(character for character in name if character.isprintable())


def _split(name: str) -> tuple[str, str]:
    if double := _DOUBLE_EXTENSIONS.search(name):
        return name[: double.start()], double[0]
    stem, dot, extension = name.rpartition(".")
    return (stem, dot + extension) if dot else (name, "")


def _clean_extension(extension: str) -> str:
    cleaned = re.sub(r"[^a-z0-9.]", "", anyascii(extension).lower()).strip(".")
    return f".{cleaned[-LONGEST_EXTENSION:].lstrip('.')}" if cleaned else ""


def _random() -> str:
    return new_id()[:RANDOM_LENGTH]
