"""The names of all events."""

from __future__ import annotations

from masthead.engine.events.catalog import CATALOG

EVENT_NAMES = tuple(kind.name for kind in CATALOG)

TEST_PING = "test.ping"
