"""Many streams that become ready at the same moment, beside somebody else on the same loop."""

from __future__ import annotations

import asyncio

from masthead.outbound.turns import Turns


class Sleepers:
    """Tasks that each sleep once and then note that they went on."""

    def __init__(self, count: int) -> None:
        loop = asyncio.get_running_loop()
        self.futures = [loop.create_future() for _ in range(count)]
        self.woken: list[int] = []
        self.tasks = [asyncio.create_task(self._sleep(number)) for number in range(count)]

    async def _sleep(self, number: int) -> None:
        await self.futures[number]
        self.woken.append(number)


async def asleep(count: int) -> Sleepers:
    sleepers = Sleepers(count)
    await asyncio.sleep(0)
    return sleepers


async def test_only_so_many_go_on_in_one_turn_and_in_order() -> None:
    turns, sleepers = Turns(per_turn=3), await asleep(10)
    for future in sleepers.futures:
        turns.wake(future)
    counts = []
    while len(sleepers.woken) < 10:
        # Somebody else's turn comes after each handful.
        await asyncio.sleep(0)
        counts.append(len(sleepers.woken))
    assert sleepers.woken == list(range(10))
    assert max(after - before for before, after in zip([0, *counts], counts, strict=False)) <= 3


async def test_who_is_alone_goes_on_in_the_next_turn() -> None:
    turns, sleepers = Turns(per_turn=3), await asleep(9)
    for future in sleepers.futures:
        turns.wake(future)
        await asyncio.sleep(0)
        assert future.done()
        await asyncio.sleep(0)
    await asyncio.gather(*sleepers.tasks)


async def test_newcomers_do_not_overtake() -> None:
    turns, sleepers = Turns(per_turn=2), await asleep(8)
    for future in sleepers.futures[:6]:
        turns.wake(future)
    await asyncio.sleep(0)
    for future in sleepers.futures[6:]:
        turns.wake(future)
    await asyncio.gather(*sleepers.tasks)
    assert sleepers.woken == list(range(8))


async def test_who_has_given_up_holds_nobody_up() -> None:
    turns, sleepers = Turns(per_turn=1), await asleep(3)
    for future in sleepers.futures:
        turns.wake(future)
    sleepers.tasks[1].cancel()
    await asyncio.gather(*sleepers.tasks, return_exceptions=True)
    assert sleepers.woken == [0, 2]
