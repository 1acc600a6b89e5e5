from __future__ import annotations

from tests.cli.conftest import masthead, own_logs
from tests.databases import database_url

__all__ = ["database_url", "masthead", "own_logs"]
