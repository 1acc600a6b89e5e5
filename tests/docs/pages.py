"""Writes the pages of docs/reference that are made from the code: `make docs`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.docs import collections_page, endpoints_page, events_page, site_settings_page

FOLDER = Path(__file__).parents[2] / "docs" / "reference"

PAGES: dict[str, Callable[[], str]] = {
    "collections.md": collections_page.render,
    "endpoints.md": endpoints_page.render,
    "events.md": events_page.render,
    "site-settings.md": site_settings_page.render,
}

if __name__ == "__main__":
    for name, render in PAGES.items():
        (FOLDER / name).write_text(render())
