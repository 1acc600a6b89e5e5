"""Inputs that once were findings, in `findings/`: named by their target. They stay for ever."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent / "findings"


def inputs_of(name: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(FOLDER.glob(f"{name}--*"))]
