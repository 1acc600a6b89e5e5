"""Measures both services in turns, so that other work of the machine affects both."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench import http, load
from bench.operations import Operation
from bench.sides import Server, Side

_CHECKED = 5
_SERIALS_PER_ROUND = 1_000_000
_CHECK_SERIAL = 99_000_000


@dataclass(frozen=True)
class Settings:
    rounds: int
    seconds: float
    warm_up_seconds: float
    connections: int


@dataclass
class Rounds:
    """The results of one service for one operation."""

    results: list[load.Result] = field(default_factory=list)

    @property
    def rates(self) -> list[float]:
        return [result.rps for result in self.results]


@dataclass(frozen=True)
class Subject:
    server: Server
    operation: Operation


def alternate(subjects: Mapping[str, Subject], settings: Settings) -> dict[str, Rounds]:
    requests = {name: _checked_requests(name, subject) for name, subject in subjects.items()}
    rounds = {name: Rounds() for name in subjects}
    for number in range(settings.rounds):
        for name, subject in subjects.items():
            plan = load.Plan(
                port=subject.server.port,
                requests=requests[name],
                seconds=settings.seconds,
                warm_up_seconds=settings.warm_up_seconds,
                connections=settings.connections,
                first_serial=number * _SERIALS_PER_ROUND,
                is_repeatable=subject.operation.is_repeatable,
            )
            rounds[name].results.append(load.run(plan))
    return rounds


def start_seconds(side: Side, folder: Path) -> float:
    """From the start of the process to its first healthy answer."""
    before = time.perf_counter()
    with side.serving(folder):
        return time.perf_counter() - before


def _checked_requests(name: str, subject: Subject) -> list[bytes]:
    """Compares some answers with the posts, so that wrong answers do not count."""
    requests = subject.operation.requests(subject.server)
    for number, request in enumerate(requests[:_CHECKED]):
        answer = http.send(subject.server.port, request.raw, _CHECK_SERIAL + number)
        if not request.is_right(answer):
            line = request.raw.partition(b"\r\n")[0].decode()
            raise RuntimeError(
                f"{name}, {subject.operation.name}: wrong answer to {line}: {answer!r:.600}"
            )
    return [request.raw for request in requests]
