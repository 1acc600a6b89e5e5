"""The flags of `masthead import`, parsed."""

from __future__ import annotations

from pathlib import Path

import msgspec

from masthead.faces.importers.source import Options


class ImportOptions(msgspec.Struct, frozen=True):
    platform: str
    file: Path
    tenant: str
    reader: Options
    batch_size: int
    dry_run: bool
    emit_events: bool
    redirects: Path | None
    """Where to write the redirects, instead of the default file name."""
    report: Path | None
