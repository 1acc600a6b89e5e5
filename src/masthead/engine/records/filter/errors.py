"""The error for a filter that does not parse."""

from __future__ import annotations

from masthead.base.errors import BadRequest


class FilterError(BadRequest):
    """`position` is the index of the first character that does not fit."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"Invalid filter at position {position}: {message}")
        self.position = position
