"""Every test here has a service of its own, so that no other test writes to its queue."""

from __future__ import annotations

from tests.durability.conftest import world

__all__ = ["world"]
