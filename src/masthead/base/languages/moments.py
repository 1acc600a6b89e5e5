"""Days and moments among the values of words: each is written as the language does that is spoken
where they are shown."""

from __future__ import annotations

from datetime import datetime

from masthead.base.languages.formats import shown_date
from masthead.base.languages.translators import spoken_now


class Day:
    def __init__(self, day: datetime) -> None:
        self._day = day

    def __str__(self) -> str:
        return shown_date(self._day, "long", spoken_now().language.lower())


class Moment:
    """A moment in UTC, to the minute."""

    def __init__(self, moment: datetime) -> None:
        self._moment = moment

    def __str__(self) -> str:
        day = shown_date(self._moment, "long", spoken_now().language.lower())
        return f"{day}, {self._moment:%H:%M} UTC"
