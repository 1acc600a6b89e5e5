"""The pinned dependencies of a release: those of the lock that the service needs to run."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PIN = re.compile(rf"^({_NAME.pattern})==")
_VIA = re.compile(rf"^    #   (?:via )?({_NAME.pattern})\s*$|^    # via ({_NAME.pattern})\s*$")


@dataclass(frozen=True, slots=True)
class Pin:
    name: str
    text: str
    """The pin with its hashes, as it is in the lock."""
    needed_by: frozenset[str]


def runtime_pins(lock: Path, project: Path) -> list[Pin]:
    """The lock also has what builds the package, which a server does not need."""
    pins = list(_pins(lock.read_text()))
    declared = tomllib.loads(project.read_text())["project"]["dependencies"]
    needed = {_normalized(_NAME.match(each)[0]) for each in declared}  # type: ignore[index]
    while more := {each.name for each in pins if each.needed_by & needed} - needed:
        needed |= more
    return [each for each in pins if each.name in needed]


def _pins(text: str) -> Iterator[Pin]:
    blocks = re.split(r"^(?=\S)", text, flags=re.MULTILINE)
    for block in blocks:
        found = _PIN.match(block)
        if found:
            lines = block.splitlines()
            pin = [line for line in lines if not line.lstrip().startswith("#")]
            named = [_VIA.match(line) for line in lines]
            via = {_normalized(each[1] or each[2]) for each in named if each}
            yield Pin(_normalized(found[1]), "\n".join(pin) + "\n", frozenset(via))


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
