"""Services whose emails tests can read, and the eye on every browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.admin.served import REFUSED
from tests.mail.offices import office, office_world

__all__ = ["office", "office_world"]


@pytest.fixture(autouse=True)
def the_policy_refuses_nothing_and_no_script_fails() -> Iterator[None]:
    yield
    found = REFUSED.copy()
    REFUSED.clear()
    assert found == []
