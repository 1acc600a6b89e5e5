"""Style sheets in parts: one that imports others is sent as one, with each in its place.

`@import "admin/button.css";` on a line of its own names a part, by its path from the sheet that
says so. Anything else that begins with `@import` is left to the browser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

_IMPORT = re.compile(r'^@import "([^":]+\.css)";$', re.MULTILINE)


def join_parts(
    name: str, read: Callable[[str], str | None], importers: tuple[str, ...] = ()
) -> str:
    """The text of the sheet `name` with its parts. `read` gives the text of a sheet, or None where
    there is none of that name: its import is left as it is, like one that leads back."""

    def part(match: re.Match[str]) -> str:
        target = resolve(PurePosixPath(name).parent, match[1])
        if target in (*importers, name) or read(target) is None:
            return match[0]
        return join_parts(target, read, (*importers, name)).rstrip("\n")

    return _IMPORT.sub(part, read(name) or "")


def named_parts(name: str, text: str) -> Iterator[str]:
    for target in _IMPORT.findall(text):
        part = resolve(PurePosixPath(name).parent, target)
        if part != name:
            yield part


def joined_file(path: Path) -> bytes:
    """The style sheet at `path` with its parts."""
    return join_parts(path.name, lambda name: (path.parent / name).read_text("utf-8")).encode()


def resolve(folder: PurePosixPath, target: str) -> str:
    parts: list[str] = []
    for part in (folder / target).parts:
        if part == ".." and parts:
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)
