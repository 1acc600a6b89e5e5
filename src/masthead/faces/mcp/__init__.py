"""Tools for AI assistants; only with the extra `mcp`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

MCP_PATH: Final = "/mcp"


def has_mcp() -> bool:
    """Whether the extra is installed. Nothing of it is loaded."""
    return find_spec("mcp") is not None
