"""The engine gives the answers of a simple model in memory, on both databases, whatever happens in
which order."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.databases import fresh_url
from tests.engine.records.model.discussed_machine import DiscussedMachine
from tests.engine.records.model.machine import EngineMachine, Thread
from tests.world import open_world

from masthead.engine.jobs.runner import JobRunner
from masthead.features.posts import jobs
from masthead.service.deep_check.faults import Look
from masthead.storage.snapshot import open_snapshots

Machines = tuple[type[EngineMachine], type[DiscussedMachine]]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def machines(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machines]:
    folder = tmp_path_factory.mktemp("model")
    thread = Thread()
    world = thread.run(open_world(fresh_url(request.param, folder), folder))

    class Machine(EngineMachine):
        pass

    class Discussing(DiscussedMachine):
        pass

    opening = open_snapshots(world.parts.settings.database_url)
    Machine.world, Machine.thread = Discussing.world, Discussing.thread = world, thread
    look = Look(world.parts, thread.run(opening.__aenter__()))  # type: ignore[arg-type]
    Machine.look = Discussing.look = look
    handlers = jobs.handlers(world.parts.records)
    Machine.jobs = JobRunner(world.parts.database, handlers, world.clock)
    yield Machine, Discussing
    thread.run(opening.__aexit__(None, None, None))
    thread.run(world.parts.close())
    thread.close()


@pytest.fixture
def machine(machines: Machines) -> type[EngineMachine]:
    return machines[0]


@pytest.mark.parametrize("which", [0, 1], ids=["posts", "copies and comments"])
@pytest.mark.parametrize(
    ("examples", "steps"), [(3, 20), pytest.param(100, 50, marks=pytest.mark.sweep)]
)
def test_the_engine_is_as_the_model(
    machines: Machines, which: int, examples: int, steps: int
) -> None:
    run_state_machine_as_test(
        machines[which],
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


def a_restored_post_with_changes_that_are_not_live(state: DiscussedMachine) -> None:
    post, *_ = state.begin().values
    state.save(caller="ann", post=post, given={"title": "Fog"}, replaces=False)
    state.delete_post(post=post)
    state.restore(gone=post)
    state.save(caller="ann", post=post, given={"excerpt": "Grey"}, replaces=False)
    state.publish(caller="editor", post=post, is_live=True, replaces=False)


def a_post_is_taken_down_with_changes_of_two(state: DiscussedMachine) -> None:
    post, *_ = state.begin().values
    state.save(caller="ann", post=post, given={"title": "Fog"}, replaces=False)
    state.change_elsewhere(post=post, given={"title": "Wind"}, status="")
    state.publish(caller="ann", post=post, is_live=False, replaces=False)
    state.publish(caller="ann", post=post, is_live=False, replaces=True)


def an_answer_to_a_comment_that_comes_back(state: DiscussedMachine) -> None:
    post, *_ = state.begin().values
    first = state.comment(post=post, status="approved")
    second = state.answer(post=post, parent=first, status="pending")
    third = state.answer(post=post, parent=second, status="approved")
    state.delete_comment(comment=second)
    state.delete_comment(comment=first)
    state.restore(gone=second)
    state.moderate(comment=third, status="spam")
    state.restore(gone=first)
    state.delete_post(post=post)
    state.restore(gone=post)


@pytest.mark.parametrize(
    "discussion",
    [
        a_restored_post_with_changes_that_are_not_live,
        a_post_is_taken_down_with_changes_of_two,
        an_answer_to_a_comment_that_comes_back,
    ],
)
def test_copies_and_comments_that_went_apart_once_or_nearly(
    machines: Machines, discussion: Callable[[DiscussedMachine], None]
) -> None:
    state = machines[1]()
    discussion(state)
    state.all_is_as_in_the_model()
    state.teardown()


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
