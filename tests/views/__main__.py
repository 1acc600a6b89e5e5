"""`make views`: writes the typed view of each of these collections from its declaration."""

from __future__ import annotations

from tests.views.views import VIEWS

if __name__ == "__main__":
    for view in VIEWS:
        view.path.write_text(view.render())
