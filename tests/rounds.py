"""How often a test tries what depends on chance: a kill at a random moment, a random input.

`make test` tries a few times, each run at other moments; `make test-all` asks for the long rounds.
"""

from __future__ import annotations

import pytest

_long = False


def add_option(parser: pytest.Parser) -> None:
    parser.addoption("--long-rounds", action="store_true", help="long rounds of kills and fuzzing")


def configure(config: pytest.Config) -> None:
    """Before any test module is imported."""
    global _long
    _long = config.getoption("--long-rounds")


def rounds(quick: int, long: int) -> int:
    return long if _long else quick
