"""Every test here has a service of its own, whose queue nobody else writes to."""

from __future__ import annotations

from tests.durability.conftest import world

__all__ = ["world"]
