"""Reading and writing `srcset`, whose addresses may hold commas as its separators do."""

from __future__ import annotations

import re
from collections.abc import Iterable

from masthead.records.safe_addresses import safe_picture

Candidate = tuple[str, str]
"""An address and its descriptor (`300w`, `2x` or '')."""

_ADDRESS = re.compile(r"[\s,]*+(\S+)")
_DESCRIPTOR = re.compile(r"\s*+([^,(]*+(?:\([^)]*+\)[^,(]*+)*+)(?:,|\Z)")


def parse_srcset(text: str) -> list[Candidate]:
    """As browsers do: an address ends at a blank, or at a comma with a blank behind it."""
    found: list[Candidate] = []
    at = 0
    while address := _ADDRESS.match(text, at):
        url, at = address[1], address.end()
        if url.endswith(","):
            found.append((url.rstrip(","), ""))
            continue
        descriptor = _DESCRIPTOR.match(text, at)
        if descriptor is None:
            # An opened bracket that never closes.
            break
        found.append((url, descriptor[1].strip()))
        at = descriptor.end()
    return [(url, descriptor) for url, descriptor in found if url]


def write_srcset(candidates: Iterable[Candidate]) -> str:
    return ", ".join(f"{url} {size}" if size else url for url, size in candidates)


def safe_srcset(text: str) -> str:
    """Without addresses that no picture may have."""
    found = ((safe_picture(url), size) for url, size in parse_srcset(text))
    return write_srcset((url, size) for url, size in found if url)


def widest(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Of candidates with one and the same address, the one that promises the most pixels."""
    kept: dict[str, str] = {}
    for url, size in candidates:
        if url not in kept or _pixels(size) > _pixels(kept[url]):
            kept[url] = size
    return list(kept.items())


def _pixels(descriptor: str) -> float:
    number = re.match(r"[0-9]{1,9}(?:\.[0-9]{1,9})?", descriptor)
    return float(number[0]) if number else 1.0
