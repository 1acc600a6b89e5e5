"""Services whose emails tests can read."""

from __future__ import annotations

from tests.mail.offices import office

__all__ = ["office"]
