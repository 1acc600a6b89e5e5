"""Retry-After in every form that servers send it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from masthead.outside.outbound.retry_after import parse_retry_after

NOW = datetime(2026, 11, 14, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("120", 120),
        (" 120 ", 120),
        ("0", 0),
        ("-5", None),
        ("1.5", None),
        ("١٢", None),
        ("soon", None),
        ("9" * 5000, 9999999999),
        ("Sat, 14 Nov 2026 09:32:00 GMT", 120),
        ("Sat, 14 Nov 2026 09:32:00 -0000", 120),
        ("Sat, 14 Nov 2026 09:00:00 GMT", 0),
        ("Sat, 99 Nov 2026 09:00:00 GMT", None),
    ],
)
def test_parsing_retry_after(header: str | None, seconds: int | None) -> None:
    assert parse_retry_after(header, NOW) == seconds
