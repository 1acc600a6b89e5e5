"""The receipt of an erasure: how many rows it has deleted and anonymized so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from masthead.base.languages.words import as_text, words
from masthead.features.privacy.personal import WHY_KEPT

FILES = "files"


class Receipt(msgspec.Struct):
    erased: Counter[str] = msgspec.field(default_factory=Counter)
    kept: Counter[str] = msgspec.field(default_factory=Counter)

    @classmethod
    def of(cls, stored: Mapping[str, Any] | None) -> Receipt:
        stored = stored or {}
        return cls(Counter(stored.get("erased", {})), Counter(stored.get("kept", {})))

    @classmethod
    def parse(cls, text: str) -> Receipt:
        return cls.of(msgspec.json.decode(text))

    def add(self, other: Receipt) -> None:
        self.erased.update(other.erased)
        self.kept.update(other.kept)

    def __bool__(self) -> bool:
        return bool(self.erased or self.kept)

    def as_json(self) -> dict[str, Any]:
        return {
            "erased": dict(self.erased),
            "kept": dict(self.kept),
            "why_kept": {name: str(WHY_KEPT[name]) for name in self.kept if name in WHY_KEPT},
        }

    def text(self) -> str:
        return msgspec.json.encode(self.as_json(), enc_hook=as_text).decode()

    def erased_lines(self) -> list[str]:
        return [f"{name}: {count}" for name, count in sorted(self.erased.items()) if count]

    def kept_lines(self) -> list[str]:
        return [
            words(
                "%(name)s: %(count)s (%(reason)s)",
                name=name,
                count=count,
                reason=WHY_KEPT.get(name, words("kept without the data")),
            )
            for name, count in sorted(self.kept.items())
            if count
        ]
