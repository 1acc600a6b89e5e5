"""How a round of an operation is measured: requests in turn on many connections, their rate, and
the processor time that the service needs for one of them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from bench import load, process
from bench.figures import Sample
from bench.http import Answer, answer_to
from bench.service import CanNot, Service

CHECK_SERIAL: Final = 99_000_000
_CHECKED: Final = 5
_SERIALS_PER_ROUND: Final = 1_000_000
_WARM_UP: Final = 0.3
"""The warm-up before a round, as a share of its seconds."""


@dataclass(frozen=True)
class Request:
    raw: bytes
    is_right: Callable[[bytes], bool]
    """Whether the body of an answer agrees with the posts."""


class Server(Protocol):
    """A service, or the ceiling."""

    @property
    def port(self) -> int: ...

    @property
    def pid(self) -> int: ...

    def wait_until_calm(self) -> None: ...


@dataclass(frozen=True)
class Settings:
    seconds: float
    connections: int


@dataclass(frozen=True)
class Round:
    sample: Sample
    problems: list[str]
    is_generator_bound: bool = False


class Task(Protocol):
    """An operation, prepared for one service."""

    answer: Answer
    """The answer to one operation: the ceiling sends the same."""

    def round(self, server: Server, number: int, settings: Settings) -> Round: ...


class Load:
    """Requests in turn on many connections."""

    def __init__(
        self, service: Service, requests: list[Request], *, is_repeatable: bool = True
    ) -> None:
        self._requests = [each.raw for each in requests]
        self._is_repeatable = is_repeatable
        answers = [_checked(service, each, n) for n, each in enumerate(requests[:_CHECKED])]
        self.answer = answers[0]

    def round(self, server: Server, number: int, settings: Settings) -> Round:
        plan = load.Plan(
            port=server.port,
            requests=self._requests,
            seconds=settings.seconds,
            warm_up_seconds=settings.seconds * _WARM_UP,
            connections=settings.connections,
            first_serial=number * _SERIALS_PER_ROUND,
            is_repeatable=self._is_repeatable,
        )
        used = process.processor_seconds(server.pid)
        try:
            result = load.run(plan)
        except subprocess.SubprocessError as error:
            # It has written why.
            return Round(Sample(0), [f"the load generator: {error}"])
        # What is done later for these requests is part of their cost.
        server.wait_until_calm()
        used = process.processor_seconds(server.pid) - used
        sample = Sample(result.rps, used / max(1, result.answered))
        return Round(sample, result.problems, result.is_generator_bound)


def _checked(service: Service, request: Request, number: int) -> Answer:
    """A wrong answer is not fast."""
    answer = answer_to(service.port, request.raw, CHECK_SERIAL + number)
    line = request.raw.partition(b" HTTP/1.1\r\n")[0].decode()
    if not answer.is_good:
        raise CanNot(f"{line}: {answer.status}")
    try:
        is_right = request.is_right(answer.body)
    except (KeyError, ValueError):
        is_right = False
    if not is_right:
        raise CanNot(f"{line}: wrong answer {answer.body[:300].decode(errors='replace')}")
    return answer
