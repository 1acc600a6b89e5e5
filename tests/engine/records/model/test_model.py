"""The engine gives the answers of a simple model in memory, on both databases, whatever happens in
which order."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.databases import fresh_url
from tests.engine.records.model.machine import EngineMachine, Thread
from tests.world import open_world

from masthead.engine.jobs.runner import JobRunner
from masthead.features.posts import jobs
from masthead.service.deep_check.faults import Look
from masthead.storage.snapshot import open_snapshots


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def machine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[type[EngineMachine]]:
    folder = tmp_path_factory.mktemp("model")
    thread = Thread()
    world = thread.run(open_world(fresh_url(request.param, folder), folder))

    class Machine(EngineMachine):
        pass

    opening = open_snapshots(world.parts.settings.database_url)
    Machine.world, Machine.thread = world, thread
    Machine.look = Look(world.parts, thread.run(opening.__aenter__()))  # type: ignore[arg-type]
    handlers = jobs.handlers(world.parts.records)
    Machine.jobs = JobRunner(world.parts.database, handlers, world.clock)
    yield Machine
    thread.run(opening.__aexit__(None, None, None))
    thread.run(world.parts.close())
    thread.close()


@pytest.mark.parametrize(
    ("examples", "steps"), [(3, 20), pytest.param(100, 50, marks=pytest.mark.sweep)]
)
def test_the_engine_is_as_the_model(
    machine: type[EngineMachine], examples: int, steps: int
) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def an_undo_after_its_hour(state: EngineMachine) -> None:
    post, _ = state.begin(given={}).values
    state.change_many(chosen={post}, given={"tags": ("Sea",)}, deletes=False)
    state.let_time_pass(length=15)
    state.let_time_pass(length=45)
    state.undo()


def a_restored_draft_whose_time_has_passed(state: EngineMachine) -> None:
    post, _ = state.begin(given={}).values
    state.update(caller="ann", post_id=post, given={"scheduled_for": 10}, stale=None)
    state.delete(caller="cas", post_id=post)
    state.delete(caller="ann", post_id=post)
    state.let_time_pass(length=20)
    state.restore(caller="ben", post_id=post)
    state.restore(caller="ann", post_id=post)
    state.let_time_pass(length=1)


def an_undone_deletion_of_what_is_restored_already(state: EngineMachine) -> None:
    first, second = state.begin(given={"status": "published", "tags": ("Sea",)}).values
    state.change_many(chosen={first, second}, given={}, deletes=True)
    state.restore(caller="editor", post_id=first)
    state.purge(post_id=second)
    state.undo()
    state.search(word="sea")
    state.list(caller="guest", tag="Sea")


@pytest.mark.parametrize(
    "case",
    [
        an_undo_after_its_hour,
        a_restored_draft_whose_time_has_passed,
        an_undone_deletion_of_what_is_restored_already,
    ],
)
def test_sequences_that_went_apart_once_or_nearly(
    machine: type[EngineMachine], case: Callable[[EngineMachine], None]
) -> None:
    state = machine()
    case(state)
    state.every_post_is_as_in_the_model()
    state.teardown()
