"""How a filter that can't be read is refused."""

from __future__ import annotations

from masthead.errors import BadRequest


class FilterError(BadRequest):
    """The filter does not parse; `position` is the index of the character where it went wrong."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"Invalid filter at position {position}: {message}")
        self.position = position
