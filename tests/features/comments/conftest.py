"""Services whose emails tests can read."""

from __future__ import annotations

from tests.outside.mail.offices import office, office_world

__all__ = ["office", "office_world"]
