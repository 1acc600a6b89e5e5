from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.cheap_passwords import real_passwords


@pytest.fixture(scope="module", autouse=True)
def real_password_hashes() -> Iterator[None]:
    with real_passwords():
        yield
