"""The components of the admin on one page, for developers."""

from __future__ import annotations

from masthead.faces.admin.charts import Day, bar_chart
from masthead.faces.admin.endpoint import Answer, Page
from masthead.faces.admin.forms import Widget, WidgetChoice
from masthead.faces.admin.lists import Pager
from masthead.faces.admin.request import AdminRequest


async def components(_: AdminRequest) -> Answer:
    """Every part of the admin in the states that differ, with made-up content."""
    heights = (28, 39, 34, 44, 50, 28, 39, 44, 34, 39, 50, 44, 34, 28, 39)
    days = [Day(f"{number} Nov", count * 14) for number, count in enumerate(heights, 1)]
    days[-1] = Day("15 Nov", 604, 3)
    values = {
        "chart": bar_chart("8,092 deliveries in 15 days; 3 died", days, "Ended", "Died"),
        "chart_total": sum(day.count for day in days),
        "fields": _SAMPLES,
        "pager": Pager(1, 20, 1204, older="#c-ta"),
    }
    return Page("operator/components.html", "Components", values)


_SAMPLES = (
    Widget("c-name", "Name", "text", "Notice board", help="Only you see this."),
    Widget(
        "c-url",
        "Address",
        "url",
        "http://10.0.0.4/hook",
        error="That is a private address; give one the internet can reach.",
    ),
    Widget("c-slug", "Address of the post", "text", "fog-signals", prefix="/posts/"),
    Widget(
        "c-excerpt",
        "Excerpt",
        "area",
        "Chapel Point light was taken off the clock in 1987. We asked the woman who decides.",
        max=80,
    ),
    Widget(
        "c-zone",
        "Time zone",
        "select",
        choices=(
            WidgetChoice("Europe/London", "Europe/London", True),
            WidgetChoice("Europe/Lisbon", "Europe/Lisbon", False),
        ),
    ),
    Widget(
        "c-who",
        "Who can read it",
        "radios",
        choices=(
            WidgetChoice("public", "Everyone", True),
            WidgetChoice("members", "Members", False),
            WidgetChoice("paid", "Paid", False),
        ),
    ),
    Widget("c-tags", "Tags", "tags", "harbour, long reads", help="Separated by commas."),
    Widget("c-news", "Newsletter, on", "switch", "on"),
    Widget("c-wait", "Comments wait for approval, off", "switch"),
    Widget(
        "c-authors",
        "Authors",
        "several",
        choices=(WidgetChoice("a", "Nell Ashby", True), WidgetChoice("b", "Tobias Wren", False)),
    ),
)
