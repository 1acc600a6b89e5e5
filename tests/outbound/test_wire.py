"""A piece's time limit is about the far side, not about our own queue."""

from __future__ import annotations

import asyncio
import time

import pytest

from masthead.outbound.turns import Turns
from masthead.outbound.wire import Wire

LIMIT_SECONDS = 0.05


class Taken:
    def __init__(self, pieces: int) -> None:
        self.content: list[bytes] = []
        self._pieces = pieces

    def __call__(self, data: bytes) -> bool:
        self.content.append(data)
        return len(self.content) == self._pieces


class Slow:
    """Blocks the loop on purpose: a busy process."""

    def go_on(self) -> None:
        time.sleep(LIMIT_SECONDS / 2)


async def test_what_came_in_time_is_not_late_because_its_turn_is() -> None:
    turns = Turns()
    wire, taken = Wire(turns), Taken(2)
    pouring = asyncio.create_task(wire.pour(taken, LIMIT_SECONDS))
    await asyncio.sleep(0)
    for _ in range(4):
        turns.add(Slow())
    wire.data_received(b"in time")
    while not taken.content:
        await asyncio.sleep(0)
    wire.data_received(b"and on")
    assert await pouring
    assert taken.content == [b"in time", b"and on"]
    wire.close()


async def test_each_piece_has_all_of_the_time() -> None:
    wire, taken = Wire(Turns()), Taken(10)
    began = time.monotonic()
    pouring = asyncio.create_task(wire.pour(taken, LIMIT_SECONDS))
    for number in range(3):
        await asyncio.sleep(LIMIT_SECONDS * 0.6)
        wire.data_received(b"%d" % number)
    with pytest.raises(TimeoutError):
        await pouring
    # The loop's clock counts in milliseconds.
    assert time.monotonic() - began >= LIMIT_SECONDS * 2.8 - 0.002
    assert taken.content == [b"0", b"1", b"2"]
    wire.close()


async def test_what_comes_while_nobody_takes_it_waits() -> None:
    wire, taken = Wire(Turns()), Taken(1)
    wire.data_received(b"one ")
    wire.data_received(b"two ")
    wire.put_back(b"zero ")
    assert await wire.pour(taken)
    wire.data_received(b"three")
    wire.connection_lost(None)
    rest = Taken(2)
    assert not await wire.pour(rest)
    assert [taken.content, rest.content] == [[b"zero one two "], [b"three"]]
    assert not await wire.pour(rest)


async def test_whoever_has_left_is_given_nothing() -> None:
    wire, taken = Wire(Turns()), Taken(1)
    pouring = asyncio.create_task(wire.pour(taken))
    await asyncio.sleep(0)
    wire.data_received(b"too late")
    pouring.cancel()
    await asyncio.gather(pouring, return_exceptions=True)
    await asyncio.sleep(0)
    assert taken.content == []
    again = Taken(1)
    assert await wire.pour(again)
    assert again.content == [b"too late"]
