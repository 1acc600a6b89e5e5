"""How large the files of a form may be, by the settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from masthead.config.settings import Settings
from masthead.errors import TooLarge

Largest = Callable[[Settings], int]
"""Bytes of one file."""


def largest_upload(settings: Settings) -> int:
    return settings.max_upload


def largest_import(settings: Settings) -> int:
    return settings.max_import


@contextmanager
def too_large_said(largest: int) -> Iterator[None]:
    """For people, who know files and no request bodies."""
    try:
        yield
    except TooLarge as error:
        raise TooLarge(
            f"The file is larger than the {largest // 1_000_000:,} MB that are taken here. "
            "Choose a smaller one, or ask the operator of this service to allow more."
        ) from error
