from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from tests.cheap_passwords import real_passwords


@pytest.fixture(scope="module", autouse=True)
def real_password_hashes(request: pytest.FixtureRequest) -> Iterator[None]:
    """For the tests of accounts and passwords, and not for those of the folders in here."""
    with real_passwords() if request.path.parent == Path(__file__).parent else nullcontext():
        yield
