"""Transactions have the same guarantees on both databases."""

from __future__ import annotations

import asyncio

import pytest
from tests.storage.notebook import ANN, Notebook, open_notebook

from masthead.storage.database import (
    EVERY_TENANT,
    Deferral,
    ForeignKeyViolation,
    Statement,
    UniqueViolation,
)


async def test_a_finished_transaction_is_seen_by_the_next_read(notebook: Notebook) -> None:
    async with notebook.db.transaction(ANN) as tx:
        assert await tx.execute(notebook.add, (ANN, "1", "one")) == 1
        assert [tuple(row) for row in await tx.fetch(notebook.ids, (ANN,))] == [("1",)]
    assert await notebook.ids_of(ANN) == ["1"]


async def test_a_raising_block_stores_nothing(notebook: Notebook) -> None:
    async def write() -> None:
        async with notebook.db.transaction(ANN) as tx:
            await tx.execute(notebook.add, (ANN, "1", "one"))
            raise LookupError

    with pytest.raises(LookupError):
        await write()
    assert await notebook.ids_of(ANN) == []


@pytest.mark.parametrize("count", [0, 1, 2, 8, 9, 100, 101, 300])
async def test_many_rows_at_once(notebook: Notebook, count: int) -> None:
    names = [f"{i:03}" for i in range(count)]
    async with notebook.db.transaction(ANN) as tx:
        await tx.execute_many(notebook.add, [(ANN, name, f"s{name}") for name in names])
    assert await notebook.ids_of(ANN) == names


@pytest.mark.parametrize("failing", [0, 2])
async def test_one_failing_among_concurrent_ones_fails_alone(
    notebook: Notebook, failing: int
) -> None:
    async def write(number: int) -> None:
        async with notebook.db.transaction(ANN) as tx:
            await tx.execute(notebook.add, (ANN, f"{number:02}", f"s{number}"))
            if number % 5 == failing:
                raise LookupError

    outcomes = await asyncio.gather(*(write(i) for i in range(20)), return_exceptions=True)

    failed = [i for i, each in enumerate(outcomes) if each is not None]
    assert failed == list(range(failing, 20, 5))
    assert await notebook.ids_of(ANN) == [f"{i:02}" for i in range(20) if i not in failed]


async def test_two_hundred_concurrent_transactions_are_all_counted_and_durable(
    notebook: Notebook,
) -> None:
    async with notebook.db.transaction(ANN) as tx:
        await tx.execute(notebook.add, (ANN, "1", "one"))

    async def like() -> None:
        async with notebook.db.transaction(ANN) as tx:
            await tx.execute(notebook.like, notebook.like.bind({"tenant": ANN, "note": "1"}))

    await asyncio.gather(*(like() for _ in range(200)))

    elsewhere = await open_notebook(notebook.url)
    assert await elsewhere.likes_of(ANN, "1") == 200
    await elsewhere.db.close()


async def test_a_cancelled_transaction_stores_nothing_and_blocks_no_other(
    notebook: Notebook,
) -> None:
    is_inside = asyncio.Event()

    async def hang() -> None:
        async with notebook.db.transaction(ANN) as tx:
            await tx.execute(notebook.add, (ANN, "1", "one"))
            is_inside.set()
            await asyncio.Event().wait()

    hanging = asyncio.create_task(hang())
    await is_inside.wait()
    hanging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hanging

    async with notebook.db.transaction(ANN) as tx:
        await tx.execute(notebook.add, (ANN, "2", "two"))
    assert await notebook.ids_of(ANN) == ["2"]


async def test_cancelling_at_any_moment_leaves_all_or_nothing(notebook: Notebook) -> None:
    async def write(number: int) -> None:
        async with notebook.db.transaction(ANN) as tx:
            await tx.execute(notebook.add, (ANN, f"{number:02}a", f"a{number}"))
            await asyncio.sleep(0)
            await tx.execute(notebook.add, (ANN, f"{number:02}b", f"b{number}"), slow=True)

    tasks = [asyncio.create_task(write(i)) for i in range(40)]
    for task in tasks:
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.wait(tasks)
    async with notebook.db.transaction(ANN) as tx:
        await tx.execute(notebook.add, (ANN, "end", "end"))

    ids = await notebook.ids_of(ANN)
    assert {i[:2] for i in ids if i.endswith("a")} == {i[:2] for i in ids if i.endswith("b")}
    assert "end" in ids
    kept = {f"{i:02}" for i, task in enumerate(tasks) if not task.cancelled()}
    assert kept <= {i[:2] for i in ids}


async def test_a_taken_key_names_its_table_and_columns(notebook: Notebook) -> None:
    async with notebook.db.transaction(ANN) as tx:
        await tx.execute(notebook.add, (ANN, "1", "one"))

    with pytest.raises(UniqueViolation) as by_slug:
        async with notebook.db.transaction(ANN) as tx:
            await tx.execute(notebook.add, (ANN, "2", "one"))
    with pytest.raises(UniqueViolation) as by_id:
        async with notebook.db.transaction(ANN) as tx:
            await tx.execute(notebook.add, (ANN, "1", "two"))

    assert (by_slug.value.table, by_slug.value.columns) == ("notes", ("tenant_id", "slug"))
    assert (by_id.value.table, by_id.value.columns) == ("notes", ("tenant_id", "id"))
    assert await notebook.ids_of(ANN) == ["1"]


async def test_foreign_keys_hold_in_both_directions(notebook: Notebook) -> None:
    with pytest.raises(ForeignKeyViolation):
        async with notebook.db.transaction(ANN) as tx:
            await tx.execute(notebook.reply, (ANN, "r", "missing"))
    async with notebook.db.transaction(ANN) as tx:
        await tx.execute(notebook.add, (ANN, "1", "one"))
        await tx.execute(notebook.reply, (ANN, "r", "1"))
    with pytest.raises(ForeignKeyViolation):
        async with notebook.db.transaction(ANN) as tx:
            await tx.execute(notebook.drop, (ANN, "1"))


async def test_an_error_caught_inside_the_block_still_fails_it(notebook: Notebook) -> None:
    async def write() -> None:
        async with notebook.db.transaction(ANN) as tx:
            await tx.execute(notebook.add, (ANN, "1", "one"))
            with pytest.raises(UniqueViolation):
                await tx.execute(notebook.add, (ANN, "2", "one"))
            with pytest.raises(UniqueViolation):
                await tx.execute(notebook.add, (ANN, "3", "three"))

    with pytest.raises(UniqueViolation):
        await write()
    assert await notebook.ids_of(ANN) == []


async def test_rows_before_the_failing_one_of_a_statement_are_not_stored(
    notebook: Notebook,
) -> None:
    async def add(*rows: tuple[str, str]) -> None:
        async with notebook.db.transaction(ANN) as tx:
            await tx.execute_many(notebook.add, [(ANN, *row) for row in rows])

    await add(("1", "one"))
    failing = add(("2", "two"), ("3", "three"), ("4", "one"))

    _, failure = await asyncio.gather(add(("5", "five")), failing, return_exceptions=True)

    assert isinstance(failure, UniqueViolation)
    assert await notebook.ids_of(ANN) == ["1", "5"]


async def test_an_ended_transaction_refuses_statements(notebook: Notebook) -> None:
    async with notebook.db.transaction(ANN) as tx:
        pass
    with pytest.raises(RuntimeError, match="ended"):
        await tx.execute(notebook.add, (ANN, "1", "one"))


async def test_an_invalid_statement_raises_the_databases_own_error(notebook: Notebook) -> None:
    with pytest.raises(Exception, match="nowhere"):
        await notebook.db.fetch(ANN, Statement("SELECT * FROM nowhere", (), {}))
    await notebook.db.ping()


async def test_the_platform_sees_every_tenant(notebook: Notebook) -> None:
    async with notebook.db.transaction(EVERY_TENANT) as tx:
        await tx.execute(notebook.add, ("ann", "1", "one"))
        await tx.execute(notebook.add, ("bob", "2", "two"))
    rows = await notebook.db.fetch(
        EVERY_TENANT, Statement("SELECT id FROM notes ORDER BY id", (), {})
    )
    assert [row[0] for row in rows] == ["1", "2"]


async def test_deferred_rows_are_stored_with_the_transaction(notebook: Notebook) -> None:
    names = [f"{i:03}" for i in range(120)]
    async with notebook.db.transaction(ANN) as tx:
        for name in names:
            tx.defer(Deferral(notebook.add, [(ANN, name, f"s{name}")]))
        tx.defer(Deferral(notebook.add, []))
    assert await notebook.ids_of(ANN) == names


async def test_deferred_rows_of_a_raising_block_are_not_stored(notebook: Notebook) -> None:
    async def write(number: int) -> None:
        async with notebook.db.transaction(ANN) as tx:
            tx.defer(Deferral(notebook.add, [(ANN, f"{number:02}", f"s{number}")]))
            if number % 2:
                raise LookupError

    await asyncio.gather(*(write(i) for i in range(20)), return_exceptions=True)

    assert await notebook.ids_of(ANN) == [f"{i:02}" for i in range(0, 20, 2)]


async def test_a_read_sees_deferred_rows(notebook: Notebook) -> None:
    """In the same transaction, and in those that follow before the commit."""
    seen: dict[int, list[str]] = {}

    async def write(number: int) -> None:
        async with notebook.db.transaction(ANN) as tx:
            if number % 3 == 0:
                seen[number] = [row[0] for row in await tx.fetch(notebook.ids, (ANN,))]
            tx.defer(Deferral(notebook.add, [(ANN, f"{number:02}", f"s{number}")]))
            if number % 4 == 0:
                found = [row[0] for row in await tx.fetch(notebook.ids, (ANN,))]
                assert f"{number:02}" in found

    # On PostgreSQL their order is undefined.
    for number in range(3):
        await write(number)
    await asyncio.gather(*(write(i) for i in range(3, 30)))

    assert await notebook.ids_of(ANN) == [f"{i:02}" for i in range(30)]
    assert all({"00", "01", "02"} <= set(found) for number, found in seen.items() if number > 2)


async def test_deferred_rows_can_be_deleted_in_the_same_transaction(notebook: Notebook) -> None:
    one, two = ({"tenant": ANN, "note": note} for note in "12")
    async with notebook.db.transaction(ANN) as tx:
        tx.defer(Deferral(notebook.add, [(ANN, "1", "one"), (ANN, "2", "two")]))
        tx.defer(Deferral(notebook.drop, [notebook.drop.bind(one)]))
        tx.defer(Deferral(notebook.add, [(ANN, "3", "one")]))
        assert await tx.execute(notebook.drop, notebook.drop.bind(two)) == 1
    assert await notebook.ids_of(ANN) == ["3"]


async def test_deferred_additions_are_summed(notebook: Notebook) -> None:
    async def count(number: int) -> None:
        async with notebook.db.transaction(ANN) as tx:
            rows = [(ANN, name, 1) for name in "abcb"]
            tx.defer(Deferral(notebook.count, rows, adding=True))
            tx.defer(Deferral(notebook.count, [(ANN, "c", -1)], adding=True))
            if number % 10 == 0:
                totals = dict(map(tuple, await tx.fetch(notebook.totals)))
                assert totals["b"] == 2 * totals["a"] > 0
            if number % 5 == 1:
                raise LookupError

    await asyncio.gather(*(count(i) for i in range(50)), return_exceptions=True)

    totals = [tuple(row) for row in await notebook.db.fetch(ANN, notebook.totals)]
    assert totals == [("a", 40), ("b", 80)]


async def test_more_rows_than_go_in_one_round_trip(notebook: Notebook) -> None:
    async with notebook.db.transaction(ANN) as tx:
        tx.defer(Deferral(notebook.add, [(ANN, f"{i:04}", f"s{i}") for i in range(1_501)]))
    assert len(await notebook.ids_of(ANN)) == 1_501


async def test_a_failed_transaction_loses_no_deferred_rows_of_others(notebook: Notebook) -> None:
    """Its read had written them in its own savepoint, which is then rolled back."""

    async def add(number: int) -> None:
        async with notebook.db.transaction(ANN) as tx:
            tx.defer(Deferral(notebook.add, [(ANN, f"{number:02}", f"s{number}")]))

    async def fail() -> None:
        async with notebook.db.transaction(ANN) as tx:
            await tx.fetch(notebook.ids, (ANN,))
            raise LookupError

    await asyncio.gather(
        *(work for i in range(10) for work in (add(i), fail())), return_exceptions=True
    )

    assert await notebook.ids_of(ANN) == [f"{i:02}" for i in range(10)]


async def test_a_cancelled_transaction_loses_no_deferred_rows_of_others(notebook: Notebook) -> None:
    async def write(number: int) -> None:
        async with notebook.db.transaction(ANN) as tx:
            tx.defer(Deferral(notebook.add, [(ANN, f"{number:02}a", f"a{number}")]))
            await asyncio.sleep(0)
            await tx.execute(notebook.add, (ANN, f"{number:02}b", f"b{number}"), slow=True)

    tasks = [asyncio.create_task(write(i)) for i in range(30)]
    for task in tasks[::3]:
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.wait(tasks)

    ids = await notebook.ids_of(ANN)
    kept = {f"{i:02}" for i, task in enumerate(tasks) if not task.cancelled()}
    assert {i[:2] for i in ids if i.endswith("a")} == {i[:2] for i in ids if i.endswith("b")}
    assert kept <= {i[:2] for i in ids}
    assert len(kept) >= 20
