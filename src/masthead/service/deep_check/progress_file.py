"""How far a deep check has come, in a file: an interrupted one goes on from there."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

import msgspec

from masthead.base.whole_file import replacing_file

NAME: Final = "deep-check.json"
SAVED_EVERY: Final = 1.0
"""Seconds. What was checked since is checked again."""
MOST: Final = 1_000
"""Faults of each kind that are listed; all are counted."""


class Reported(msgspec.Struct, frozen=True):
    check: str
    site: str
    """Its slug; empty for what belongs to no site."""
    collection: str
    id: str
    detail: str
    can_repair: bool
    repaired: bool


class Progress(msgspec.Struct):
    repairs: bool = False
    of_tenant: str = ""
    """The value of `--tenant`."""
    site: str = ""
    step: str = ""
    after: list[Any] = msgspec.field(default_factory=list)
    checked: dict[str, int] = msgspec.field(default_factory=dict)
    found: dict[str, int] = msgspec.field(default_factory=dict)
    repaired: dict[str, int] = msgspec.field(default_factory=dict)
    faults: list[Reported] = msgspec.field(default_factory=list)
    is_complete: bool = False

    def count(self, check: str, number: int) -> None:
        self.checked[check] = self.checked.get(check, 0) + number

    def report(self, fault: Reported) -> None:
        name = fault.check
        self.found[name] = self.found.get(name, 0) + 1
        self.repaired[name] = self.repaired.get(name, 0) + fault.repaired
        if self.found[name] <= MOST:
            self.faults.append(fault)


class ProgressFile:
    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._saved_at = time.monotonic()

    def read(self) -> Progress | None:
        """None if the last check has ended, or left nothing that this version reads."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Progress)
        except (FileNotFoundError, msgspec.MsgspecError):
            return None

    def save(self, progress: Progress) -> None:
        if progress.is_complete:
            self._path.unlink(missing_ok=True)
        elif time.monotonic() - self._saved_at >= SAVED_EVERY:
            self.write(progress)

    def write(self, progress: Progress) -> None:
        with replacing_file(self._path) as file:
            file.write(msgspec.json.encode(progress))
        self._saved_at = time.monotonic()
