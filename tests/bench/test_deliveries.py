"""The measurements of webhooks run, and are named so that one of them can be asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import deliveries, report


@pytest.mark.parametrize(("ours", "is_met"), [(1_500, True), (1_499, False)])
def test_a_rate_has_a_least_value(ours: float, is_met: bool) -> None:
    target = deliveries.AtLeast(1_500)
    row = report.Row("rate", "per second", {report.OURS: [ours]}, target)
    assert target.is_met(row) is is_met
    assert target.text(row.unit) == ">= 1500 per second"


def test_what_has_another_name_is_not_measured() -> None:
    assert list(deliveries.rows("list 20 with total")) == []
    assert all(name.startswith(deliveries.NAME) for name in deliveries.names())


def test_a_claim_from_a_long_queue(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(deliveries, "TENANTS", 2)
    monkeypatch.setattr(deliveries, "_CLAIMS", 2)
    (row,) = deliveries.rows("2 tenants, SQLite", backlog=500)
    assert row.name == "webhooks: claim of 32, 500 waiting, 2 tenants, SQLite"
    assert len(row.values[report.OURS]) == 2
