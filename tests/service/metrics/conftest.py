from __future__ import annotations

from tests.databases import database_url
from tests.service.cli.conftest import masthead, own_logs

__all__ = ["database_url", "masthead", "own_logs"]
