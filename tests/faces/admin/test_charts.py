"""Charts draw their numbers."""

from __future__ import annotations

from masthead.faces.admin.charts import HEIGHT, Day, line_chart


def test_a_line_begins_at_zero() -> None:
    """Twice as many are twice as high, whatever the least is."""
    chart = line_chart("Members", [Day("1 Nov", 100), Day("2 Nov", 200), Day("3 Nov", 0)])
    heights = [HEIGHT - float(point.split()[1]) for point in chart.line[1:].split(" L")]
    assert heights[0] * 2 == heights[1]
    assert heights[2] == 0
