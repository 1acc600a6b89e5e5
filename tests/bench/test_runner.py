"""Every row on a small service of this version, as a run measures it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.data import Content
from bench.figures import Verdict
from bench.http import Answer, answer_to
from bench.masthead import Masthead, MastheadService
from bench.rows import OPERATIONS, Operation, read
from bench.runner import OURS, PEER, Filled, RunOptions
from bench.service import CanNot, Service
from bench.tasks import Request, Settings
from tests.databases import fresh_postgres_url

from bench import ceiling, checkout, datasets, runner

# One server for all of them.
pytestmark = pytest.mark.xdist_group("bench")

CONTENT = Content(2, 40)
QUICK = RunOptions(CONTENT, 1, Settings(seconds=0.3, connections=2))


@pytest.fixture(scope="module")
def filled() -> Iterator[Filled]:
    with datasets.run_folder() as folder:
        made = Filled(Masthead(), folder / "data")
        made.folder.mkdir()
        made.side.fill(made.folder, CONTENT)
        yield made


@pytest.fixture(scope="module")
def service(filled: Filled) -> Iterator[Service]:
    with filled.side.serving(filled.folder) as running:
        yield running


@pytest.fixture(scope="module")
def bare() -> Iterator[ceiling.Ceiling]:
    with ceiling.serving() as running:
        yield running


def test_a_commit_that_does_not_exist_is_named() -> None:
    with pytest.raises(SystemExit, match="no-such-commit"):
        checkout.of_commit("no-such-commit")


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
@pytest.mark.sweep
def test_this_version_can_do_everything_that_is_measured(
    service: Service, operation: Operation
) -> None:
    taken = operation.prepare(service, CONTENT).round(service, 0, QUICK.settings)
    assert taken.problems == []
    assert taken.sample.value > 0
    assert taken.sample.processor > 0


@pytest.mark.parametrize("name", ["v1 create from a title", "editor autosave"])
@pytest.mark.sweep
def test_the_ceiling_is_measured_beside_both(
    service: Service, bare: ceiling.Ceiling, name: str
) -> None:
    [operation] = [each for each in OPERATIONS if each.name == name]
    found = runner.operation_row(operation, {PEER: service, OURS: service}, bare, QUICK)
    assert (found.problems, found.notes) == ([], [])
    assert [len(each) for each in (found.peer, found.ours, found.ceiling)] == [1, 1, 1]
    assert found.ceiling[0].value > 0


@pytest.mark.sweep
def test_a_service_on_postgresql_is_measured(tmp_path: Path) -> None:
    filled = Filled(Masthead(database_url=fresh_postgres_url()), tmp_path / "data")
    filled.folder.mkdir()
    filled.side.fill(filled.folder, CONTENT)
    [operation] = [each for each in OPERATIONS if each.name == "v1 create"]
    with filled.side.serving(filled.folder) as service:
        taken = operation.prepare(service, CONTENT).round(service, 0, QUICK.settings)
        service.wait_until_calm()
    assert taken.problems == []
    assert not (filled.folder / "masthead.db").exists()


def test_the_ceiling_takes_large_answers_that_arrive_in_pieces(bare: ceiling.Ceiling) -> None:
    body = b"x" * 300_000
    for _ in range(100):
        bare.answer_with(Answer(201, [("X-Kept", "yes"), ("Content-Length", "7")], body))
    sent = answer_to(bare.port, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 0)
    assert (sent.status, sent.body) == (201, body)
    headers = {name.lower(): value for name, value in sent.headers}
    assert (headers["x-kept"], headers["content-length"]) == ("yes", "300000")


@pytest.mark.parametrize(
    ("path", "said"),
    [("/no-such-page", "GET /no-such-page: 404"), ("/", "GET /: wrong answer")],
    ids=["refused", "wrong"],
)
@pytest.mark.sweep
def test_what_a_version_can_not_do_is_a_row_all_the_same(
    service: Service, path: str, said: str
) -> None:
    def requests(asked: Service, content: Content) -> Iterator[Request]:
        yield Request(asked.page(content.site_names[0], path), lambda body: b"nowhere" in body)

    operation = read("a page", requests)
    with pytest.raises(CanNot):
        operation.prepare(service, CONTENT)
    found = runner.operation_row(operation, {PEER: service, OURS: service}, None, QUICK)
    assert found.verdict is Verdict.NOWHERE
    assert [
        each.startswith(f"{side}: {said}")
        for side, each in zip((PEER, OURS), found.notes, strict=True)
    ]


@pytest.mark.sweep
def test_a_command_takes_wall_and_processor_time(filled: Filled) -> None:
    for arguments in runner.COMMANDS.values():
        sample = runner.command_sample(filled, arguments)
        assert 0 < sample.processor <= sample.value * 4
    with pytest.raises(CanNot, match="masthead no such"):
        runner.command_sample(filled, ("no", "such"))


@pytest.mark.sweep
def test_posts_keep_their_ids_and_only_guests_are_shown_less(service: Service) -> None:
    assert isinstance(service, MastheadService)
    [post] = CONTENT.by_site["t001"][-1:]
    answer = answer_to(service.port, service.view(post), 1)
    assert answer.is_good
    # Its title is another one after the tests of changes.
    assert post.id.encode() in answer.body
    [draft] = [each for each in CONTENT if each.status == "draft"][:1]
    assert answer_to(service.port, service.view(draft), 1).status == 404
    assert answer_to(service.port, service.api_view(draft), 1).is_good
