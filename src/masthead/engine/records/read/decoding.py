"""Turns rows into records."""

from __future__ import annotations

from collections.abc import Mapping

from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.fields.base import Decoder, Field
from masthead.storage.database import Row


class RowDecoder:
    """Turns rows into records."""

    __slots__ = ("_fixups", "names")

    def __init__(self, decoders: Mapping[str, Decoder | None]) -> None:
        self.names = tuple(decoders)
        self._fixups = tuple(
            (name, decode) for name, decode in decoders.items() if decode is not None
        )

    def record(self, row: Row) -> Record:
        record = dict(zip(self.names, row, strict=False))
        for name, decode in self._fixups:
            record[name] = decode(record[name])
        return record


def answer_decoder(fields: tuple[Field, ...]) -> RowDecoder:
    """For answers: JSON stays text and is copied into the answer unparsed."""
    return RowDecoder({each.name: type(each).present for each in fields})


def engine_decoder(collection: Collection) -> RowDecoder:
    """For the engine and its hooks: all fields, as plain Python values."""
    rows = _engine_decoders.get(collection.name)
    if rows is None:
        rows = RowDecoder({each.name: type(each).decode for each in collection.all_fields})
        _engine_decoders[collection.name] = rows
    return rows


_engine_decoders: dict[str, RowDecoder] = {}
