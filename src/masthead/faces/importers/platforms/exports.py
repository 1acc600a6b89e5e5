"""Opens an export by the platform it comes from."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Final, cast
from urllib.parse import urlsplit

from masthead.faces.importers.source import BadFile, Options, Overview, Source

# Imported at first use: each needs parsers that the others don't.
_READERS: Final = {
    "wordpress": ("masthead.faces.importers.platforms.wordpress.source", "open_wordpress"),
    "substack": ("masthead.faces.importers.platforms.substack.reader", "open_substack"),
    "ghost": ("masthead.faces.importers.platforms.ghost.reader", "open_ghost"),
}


def open_export(platform: str, path: Path, options: Options) -> Source:
    """Raises `BadFile` for a file that can't be imported."""
    if not path.exists():
        raise BadFile(f"There is no file {path}.")
    module, name = _READERS[platform]
    try:
        return cast(Source, getattr(import_module(module), name)(path, options))
    except OSError as error:
        raise BadFile(f"{path} can't be read ({error.strerror}).") from error


def id_namespace(overview: Overview) -> str:
    """In which the ids of an export are unique. WordPress numbers its posts, so two blogs use the
    same ids. The ids of Ghost and Substack are globally unique."""
    if overview.platform != "wordpress":
        return overview.platform
    host = (urlsplit(overview.site_url).hostname or "").removeprefix("www.")
    return f"wordpress {host}" if host else "wordpress"
