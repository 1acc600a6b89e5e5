"""Reads `/metrics` as Prometheus does."""

from __future__ import annotations

from dataclasses import dataclass

import httpx
from prometheus_client.parser import text_string_to_metric_families


@dataclass(frozen=True)
class Scraped:
    samples: dict[tuple[str, frozenset[tuple[str, str]]], float]

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self.samples}

    def labels(self, name: str, label: str) -> set[str]:
        """The values that a label has."""
        return {dict(labels).get(label, "") for found, labels in self.samples if found == name}

    def total(self, name: str, **wanted: str) -> float:
        """The sum over all that have these labels."""
        return sum(
            value
            for (found, labels), value in self.samples.items()
            if found == name and wanted.items() <= dict(labels).items()
        )


def scraped(address: str, **headers: str) -> Scraped:
    answer = httpx.get(f"{address}/metrics", headers=headers, timeout=120)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return Scraped(
        {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(answer.text)
            for sample in family.samples
        }
    )
