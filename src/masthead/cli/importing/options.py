"""What the flags of `masthead import` ask for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from masthead.importers.source import Options


@dataclass(frozen=True, slots=True)
class Wish:
    platform: str
    file: Path
    tenant: str
    options: Options
    batch_size: int
    dry_run: bool
    emit_events: bool


@dataclass(frozen=True, slots=True)
class Outputs:
    """Files to be written, where they are not to be left where they always are."""

    redirects: Path | None
    report: Path | None
