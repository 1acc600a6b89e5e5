from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.storage.notebook import Notebook, new_url, open_notebook


@pytest.fixture(params=["sqlite", "postgresql"])
async def notebook(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Notebook]:
    opened = await open_notebook(new_url(request.param, tmp_path))
    yield opened
    await opened.db.close()
