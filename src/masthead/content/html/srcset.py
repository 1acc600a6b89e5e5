"""Parses and writes `srcset`, whose addresses may contain commas, which also separate them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from masthead.engine.records.safe_addresses import safe_picture

Candidate = tuple[str, str]
"""An address and its descriptor (`300w`, `2x` or '')."""

_ADDRESS = re.compile(r"[\s,]*+(\S+)")
_DESCRIPTOR = re.compile(r"\s*+([^,(]*+(?:\([^)]*+\)[^,(]*+)*+)(?:,|\Z)")


def parse_srcset(text: str) -> list[Candidate]:
    """Parses as browsers do: an address ends at a blank, or at a comma before a blank."""
    found: list[Candidate] = []
    at = 0
    while address := _ADDRESS.match(text, at):
        url, at = address[1], address.end()
        if url.endswith(","):
            found.append((url.rstrip(","), ""))
            continue
        descriptor = _DESCRIPTOR.match(text, at)
        if descriptor is None:
            # An unclosed bracket.
            break
        found.append((url, descriptor[1].strip()))
        at = descriptor.end()
    return [(url, descriptor) for url, descriptor in found if url]


def write_srcset(candidates: Iterable[Candidate]) -> str:
    return ", ".join(f"{url} {size}" if size else url for url, size in candidates)


def safe_srcset(text: str) -> str:
    """Removes addresses that are not allowed for pictures."""
    found = ((safe_picture(url), size) for url, size in parse_srcset(text))
    return write_srcset((url, size) for url, size in found if url)


def widest(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Keeps one of several candidates with the same address: the one with the most pixels."""
    sizes: dict[str, str] = {}
    for url, size in candidates:
        if url not in sizes or _pixels(size) > _pixels(sizes[url]):
            sizes[url] = size
    return list(sizes.items())


def _pixels(descriptor: str) -> float:
    number = re.match(r"[0-9]{1,9}(?:\.[0-9]{1,9})?", descriptor)
    return float(number[0]) if number else 1.0
