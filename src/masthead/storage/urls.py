"""Database URLs: `sqlite:///relative`, `sqlite:////absolute` or `postgresql://…`."""

from __future__ import annotations

from pathlib import Path

_SQLITE = "sqlite:///"
_POSTGRES = ("postgresql://", "postgres://")


def engine_of(url: str) -> str:
    """As in `Database.name`."""
    return "postgresql" if sqlite_path(url) is None else "sqlite"


def sqlite_path(url: str) -> Path | None:
    """The file of an SQLite URL, None for PostgreSQL; ValueError for anything else."""
    if url.startswith(_POSTGRES):
        return None
    path = url.removeprefix(_SQLITE)
    if path == url or not path:
        raise ValueError("the database URL must start with sqlite:/// or postgresql://")
    return Path(path)
