"""A closed-loop HTTP/1.1 load generator in a separate process. `run` starts it;
`python -m bench.load` is the child."""

from __future__ import annotations

import gc
import json
import selectors
import socket
import subprocess
import sys
import time
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

SERIAL = b"@serial@"
"""Replaced in each request by eight digits that are unique in the run."""

_ROOT = Path(__file__).resolve().parents[1]
_RECEIVE_BYTES = 65_536
_LARGEST_REQUEST = 262_144
_SATURATED = 0.97
_PATIENCE_SECONDS = 10.0
_CHILD_GRACE_SECONDS = 30.0


@dataclass(frozen=True)
class Plan:
    port: int
    requests: list[bytes]
    seconds: float = 2.0
    warm_up_seconds: float = 0.5
    connections: int = 32
    first_serial: int = 0
    is_repeatable: bool = True
    """Whether all answers to a request must have the same size."""
    min_body_bytes: int = 1


@dataclass(frozen=True)
class Result:
    answered: int
    """With those of the warm-up."""
    requests: int
    rps: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    body_bytes: int
    cpu_share: float
    """The share of a core that the generator used."""
    statuses: dict[str, int]
    problems: list[str] = field(default_factory=list)

    @property
    def is_valid(self) -> bool:
        return not self.problems

    @property
    def is_generator_bound(self) -> bool:
        return self.cpu_share >= _SATURATED


def run(plan: Plan) -> Result:
    """Measures in a child process."""
    child = subprocess.run(
        [sys.executable, "-m", "bench.load"],
        input=_encode(plan),
        stdout=subprocess.PIPE,
        cwd=_ROOT,
        timeout=plan.warm_up_seconds + plan.seconds + _CHILD_GRACE_SECONDS,
        check=True,
    )
    return Result(**json.loads(child.stdout))


class Malformed(Exception):
    """The server's answer is not valid HTTP/1.1."""


def parse(data: bytes) -> tuple[int, int, int] | None:
    """Status, body size and total size of the response at the start of `data`; None if it is
    incomplete."""
    head_end = data.find(b"\r\n\r\n")
    if head_end < 0:
        return None
    head = data[:head_end].lower()
    status = _status(head)
    body_start = head_end + 4
    named = head.find(b"\r\ncontent-length:")
    if named >= 0:
        line_end = head.find(b"\r\n", named + 2)
        size = int(head[named + 17 : line_end if line_end >= 0 else head_end])
        end = body_start + size
        return (status, size, end) if len(data) >= end else None
    if b"\r\ntransfer-encoding: chunked" in head:
        return _parse_chunks(data, body_start, status)
    if status == 204:
        return status, 0, body_start
    raise Malformed("a response has neither Content-Length nor chunks")


def _status(head: bytes) -> int:
    if not head.startswith(b"http/1.1 "):
        raise Malformed(f"not an HTTP/1.1 response: {head[:40]!r}")
    return int(head[9:12])


def _parse_chunks(data: bytes, position: int, status: int) -> tuple[int, int, int] | None:
    size = 0
    while True:
        line_end = data.find(b"\r\n", position)
        if line_end < 0:
            return None
        chunk = int(data[position:line_end].split(b";", 1)[0], 16)
        if chunk == 0:
            end = data.find(b"\r\n\r\n", line_end)
            return (status, size, end + 4) if end >= 0 else None
        size += chunk
        position = line_end + 2 + chunk + 2


class _Connection:
    __slots__ = ("received", "request", "sent_at", "socket")

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=5)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # So that the largest request is sent in one piece.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LARGEST_REQUEST)
        self.socket.setblocking(False)
        self.received = b""
        self.request = 0
        self.sent_at = 0.0


class _Measurement:
    """Connections with one request in flight each, and the results."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.latencies = array("d")
        self._warm_up = 0
        self.statuses: Counter[int] = Counter()
        self.body_bytes = 0
        self.problems: Counter[str] = Counter()
        self._sizes = [-1] * len(plan.requests)
        self._positions = _cycle(len(plan.requests))
        self._serial = plan.first_serial
        self._selector = selectors.DefaultSelector()

    def measure(self) -> Result:
        plan = self.plan
        connections = [_Connection(plan.port) for _ in range(plan.connections)]
        try:
            for connection in connections:
                self._selector.register(connection.socket, selectors.EVENT_READ, connection)
                self._send(connection)
            self._drive(plan.warm_up_seconds)
            self._warm_up = len(self.latencies)
            self.latencies = array("d")
            self.statuses.clear()
            self.body_bytes = 0
            used = time.process_time()
            elapsed = self._drive(plan.seconds)
            return self._result(elapsed, time.process_time() - used)
        finally:
            self._selector.close()
            for connection in connections:
                connection.socket.close()

    def _drive(self, seconds: float) -> float:
        """For this long, or on a very busy machine until there is an answer."""
        started = time.perf_counter()
        deadline, latest = started + seconds, started + seconds + _PATIENCE_SECONDS
        while (now := time.perf_counter()) < deadline or (not self.latencies and now < latest):
            for key, _ in self._selector.select(max(0.01, deadline - now)):
                self._receive(key.data)
        return time.perf_counter() - started

    def _send(self, connection: _Connection) -> None:
        position = next(self._positions)
        request = self.plan.requests[position]
        if SERIAL in request:
            request = request.replace(SERIAL, b"%08d" % self._serial)
            self._serial += 1
        connection.request = position
        connection.sent_at = time.perf_counter()
        # The socket's buffer is empty here, and `run` refuses requests that would not fit.
        if connection.socket.send(request) != len(request):
            raise Malformed("a request was not sent in one piece")

    def _receive(self, connection: _Connection) -> None:
        data = connection.socket.recv(_RECEIVE_BYTES)
        if not data:
            raise Malformed("the server closed a keep-alive connection")
        if connection.received:
            data = connection.received + data
        response = parse(data)
        if response is None:
            connection.received = data
            return
        connection.received = b""
        self.latencies.append(time.perf_counter() - connection.sent_at)
        self._account(connection.request, len(data), *response)
        self._send(connection)

    def _account(self, request: int, received: int, status: int, size: int, end: int) -> None:
        self.statuses[status] += 1
        self.body_bytes += size
        if not 200 <= status < 300:
            self.problems[f"answers with status {status}"] += 1
            return
        if received != end:
            self.problems["answers with bytes after their end"] += 1
        if size < self.plan.min_body_bytes:
            self.problems[f"bodies under {self.plan.min_body_bytes} bytes"] += 1
        if self.plan.is_repeatable:
            if self._sizes[request] < 0:
                self._sizes[request] = size
            elif self._sizes[request] != size:
                self.problems["answers that changed their size"] += 1

    def _result(self, elapsed: float, cpu_seconds: float) -> Result:
        ordered = sorted(self.latencies)
        if not ordered:
            self.problems["no answer at all"] += 1
        return Result(
            answered=self._warm_up + len(ordered),
            requests=len(ordered),
            rps=len(ordered) / elapsed,
            p50_ms=_percentile_ms(ordered, 0.50),
            p95_ms=_percentile_ms(ordered, 0.95),
            p99_ms=_percentile_ms(ordered, 0.99),
            body_bytes=self.body_bytes,
            cpu_share=cpu_seconds / elapsed,
            statuses={str(status): count for status, count in sorted(self.statuses.items())},
            problems=[f"{count} {problem}" for problem, count in self.problems.items()],
        )


def _cycle(length: int) -> Iterator[int]:
    while True:
        yield from range(length)


def _percentile_ms(ordered: list[float], share: float) -> float:
    if not ordered:
        return 0.0
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000


def _encode(plan: Plan) -> bytes:
    if not plan.requests:
        raise ValueError("a plan needs at least one request")
    if max(map(len, plan.requests)) > _LARGEST_REQUEST:
        raise ValueError(f"a request is larger than {_LARGEST_REQUEST} bytes")
    # latin-1 maps every byte to one character and back.
    return json.dumps(
        asdict(plan) | {"requests": [request.decode("latin-1") for request in plan.requests]}
    ).encode()


def _decode(raw: bytes) -> Plan:
    values = json.loads(raw)
    values["requests"] = [request.encode("latin-1") for request in values["requests"]]
    return Plan(**values)


def _failed(reason: str) -> Result:
    return Result(0, 0, 0.0, 0.0, 0.0, 0.0, 0, 0.0, {}, [reason])


def _main() -> None:
    plan = _decode(sys.stdin.buffer.read())
    gc.disable()
    try:
        result = _Measurement(plan).measure()
    except (Malformed, OSError, ValueError) as problem:
        result = _failed(f"{type(problem).__name__}: {problem}")
    print(json.dumps(asdict(result)))


if __name__ == "__main__":
    _main()
