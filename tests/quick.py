"""`make test-quick`: the engine and the APIs in a minute or two, before a push.

On SQLite only, without a browser, and without what is marked `long`; `make test` has all of it.
"""

from __future__ import annotations

from typing import Any

import pytest


def add_option(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="only SQLite, no browser, nothing long")


def leave_out_the_slow(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept, slow = [], []
    for each in items:
        (slow if is_slow(each) else kept).append(each)
    items[:] = kept
    config.hook.pytest_deselected(items=slow)


def is_slow(item: pytest.Item) -> bool:
    callspec: Any = getattr(item, "callspec", None)
    return (
        item.get_closest_marker("long") is not None
        or "chromium" in getattr(item, "fixturenames", ())
        or (callspec is not None and "postgresql" in callspec.params.values())
    )
