"""An import that was queued with its file runs in the worker and reports as the command does."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.engine.jobs.claims import claimed, take
from tests.faces.importers.write.exports import end_state, imported, rows
from tests.world import RunningClock, TenantWorld, open_world

from masthead.base.caller import system
from masthead.base.errors import Conflict, NotFound, Unavailable
from masthead.engine.jobs.runner import MAX_ATTEMPTS, Job, JobRunner, Stopped
from masthead.engine.jobs.tables import jobs
from masthead.engine.records.collection import Record
from masthead.faces.importers.collection import (
    IMPORT,
    PICTURES,
    PREVIEW,
    SWEEP_JOB,
    UNDO,
    import_runs,
)
from masthead.faces.importers.files.work_folder import delete_abandoned
from masthead.faces.importers.jobs import handlers
from masthead.faces.importers.platforms.exports import open_export
from masthead.faces.importers.report import read_report
from masthead.faces.importers.source import Options
from masthead.faces.importers.tasks.actions import (
    TOO_LATE,
    discard_import,
    possible_tasks,
    start_task,
    upload_export,
)
from masthead.faces.importers.tasks.queue import (
    FILE_STAYS,
    PREVIEW_JOB,
    RUN_JOB,
    QueuedImport,
    queue_import,
)
from masthead.faces.importers.tasks.work import GAVE_UP, ImportJob
from masthead.features.media.jobs import handlers as deletions
from masthead.service.background import Background
from masthead.web.multipart import Upload


def export(posts: int, html: str = "<p>Text</p>") -> bytes:
    rows = [
        {
            "id": f"{number:024x}",
            "title": f"Post {number}",
            "slug": f"post-{number}",
            "html": html,
            "type": "post",
            "status": "published",
            "visibility": "public",
            "published_at": "2020-01-02T03:04:05.000Z",
        }
        for number in range(posts)
    ]
    data = {"posts": rows, "members": [{"id": "m1", "email": "ada@example.com", "status": "paid"}]}
    return json.dumps({"db": [{"meta": {"version": "5.0.0"}, "data": data}]}).encode()


async def queued(tenant: TenantWorld, content: bytes, **wanted: Any) -> Record:
    parts = tenant.world.parts
    key = f"{tenant.id}/uploads/export.json"
    await parts.objects.put(key, content)
    given = QueuedImport(platform="ghost", file_name="export.json", object_key=key, **wanted)
    return await queue_import(parts.records, system(tenant.id), given)


async def work(tenant: TenantWorld, *, ends: bool = False) -> None:
    """A worker that `ends` at once, or does everything."""
    parts = tenant.world.parts
    kinds = {**handlers(parts), **deletions(parts.records, parts.objects)}
    runner = JobRunner(parts.database, kinds, parts.records.clock)
    if ends:
        runner.stop()
    while await runner.run_due() and not ends:
        pass


async def worked(tenant: TenantWorld, run: Record, *, ends: bool = False) -> Record:
    """The run after the work of a worker."""
    await work(tenant, ends=ends)
    parts = tenant.world.parts
    (found,) = await parts.records.find(import_runs, {"id": run["id"]}, tenant_id=tenant.id)
    return found


async def test_a_queued_import_ends_as_one_from_the_command_line(
    tenant: TenantWorld, other_tenant: TenantWorld, tmp_path: Any
) -> None:
    run = await queued(tenant, export(7), batch_size=3)
    assert run["state"] == "queued"

    done = await worked(tenant, run)

    (tmp_path / "export.json").write_bytes(export(7))
    source = open_export("ghost", tmp_path / "export.json", Options())
    clean = await imported(other_tenant, source)
    source.close()
    report = read_report(done["report"])
    assert (done["state"], done["error"]) == ("done", "")
    assert report.posts == clean.posts
    assert report.members == clean.members
    parts = tenant.world.parts
    assert await end_state(parts, tenant.id) == await end_state(parts, other_tenant.id)
    stored = await parts.objects.get(report.redirects_path)
    lines = b"".join([chunk async for chunk in stored.chunks]).splitlines()
    assert lines[:2] == [b"source,destination,status_code", b"/post-0/,/posts/post-0,301"]
    with pytest.raises(NotFound):
        await parts.objects.get(run["object_key"])


async def test_a_run_that_is_over_is_not_run_again(tenant: TenantWorld) -> None:
    run = await worked(tenant, await queued(tenant, export(1)))
    parts = tenant.world.parts
    async with parts.records.unit(system(tenant.id)) as unit:
        await unit.enqueue(RUN_JOB, {"run_id": run["id"]})
    assert await worked(tenant, run) == run


async def test_a_worker_that_was_stopped_for_long_writes_nothing_more(
    tenant: TenantWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process hangs between two batches, until another one has the job."""
    run = await queued(tenant, export(9), batch_size=2)
    batches = 0

    def is_stopped() -> bool:
        nonlocal batches
        batches += 1
        return False

    job = await claimed(tenant, RUN_JOB, {"run_id": run["id"], "task": IMPORT}, 1, is_stopped)

    records = tenant.world.parts.records
    unit, taken = records.unit, []

    @asynccontextmanager
    async def hanging(*args: Any, **options: Any) -> AsyncIterator[Any]:
        if batches == 2 and not taken:
            taken.append(True)
            await take(tenant, job, 2)
        async with unit(*args, **options) as opened:
            yield opened

    stopped = ImportJob(tenant.world.parts, job)
    with monkeypatch.context() as patched:
        patched.setattr(records, "unit", hanging)
        with pytest.raises(Stopped):
            await stopped.run()
    assert len(await rows(tenant, "posts")) == 4
    done = await worked(tenant, run)
    assert read_report(done["report"]).posts.imported == 9
    with pytest.raises(Stopped):
        await stopped.fail(done, "Too late.")
    assert await worked(tenant, run) == done


async def test_a_worker_that_is_stopped_leaves_the_rest_to_the_next(tenant: TenantWorld) -> None:
    run = await queued(tenant, export(9), batch_size=2)
    halted = await worked(tenant, run, ends=True)
    assert halted["state"] == "running"
    assert len(await rows(tenant, "posts")) == 2
    done = await worked(tenant, run)
    report = read_report(done["report"])
    assert (done["state"], report.posts.imported, report.members.imported) == ("done", 9, 1)


async def done_by(tenant: TenantWorld, run: Record, task: str, attempts: int) -> Record:
    """The run after one attempt of a job."""
    parts = tenant.world.parts
    job = await claimed(tenant, RUN_JOB, {"run_id": run["id"], "task": task}, attempts)
    await handlers(parts)[RUN_JOB](job)
    (found,) = await parts.records.find(import_runs, {"id": run["id"]}, tenant_id=tenant.id)
    return found


async def test_an_import_that_ends_the_worker_each_time_fails_at_last(tenant: TenantWorld) -> None:
    run = await queued(tenant, export(1))
    found = await done_by(tenant, run, "import", MAX_ATTEMPTS)
    assert (found["state"], found["error"]) == ("failed", GAVE_UP)
    assert found["object_key"] == ""
    await work(tenant)
    with pytest.raises(NotFound):
        await tenant.world.parts.objects.get(run["object_key"])


async def test_a_job_does_its_own_task_alone(tenant: TenantWorld) -> None:
    run = await queued(tenant, export(1))
    found = await done_by(tenant, run, "preview", 1)
    assert (found["state"], found["object_key"]) == ("queued", run["object_key"])


async def test_two_imports_do_not_change_a_site_at_once(tenant: TenantWorld) -> None:
    records = tenant.world.parts.records
    first = await worked(tenant, await queued(tenant, export(1)))
    preview = await worked(tenant, await queued(tenant, export(2), dry_run=True))
    await queued(tenant, export(3))
    for run, task in ((first, UNDO), (preview, IMPORT)):
        with pytest.raises(Conflict, match="Another import"):
            await start_task(records, system(tenant.id), run["id"], task)


async def test_the_file_of_an_import_whose_job_is_gone_is_deleted(tenant: TenantWorld) -> None:
    run = await queued(tenant, export(1))
    parts = tenant.world.parts
    job = Job(tenant.id, "x", SWEEP_JOB, {"run_id": run["id"]}, 1)
    sweep = handlers(parts)[SWEEP_JOB]
    async with parts.records.unit(system(tenant.id)) as unit:
        gone = sa.delete(jobs).where(jobs.c.tenant_id == tenant.id, jobs.c.kind == RUN_JOB)
        await unit.execute(parts.database.compile(gone), {})
    await sweep(job)
    assert (await parts.objects.get(run["object_key"])).size
    tenant.world.clock.advance(seconds=FILE_STAYS.total_seconds() + 1)
    await sweep(job)
    (found,) = await parts.records.find(import_runs, {"id": run["id"]}, tenant_id=tenant.id)
    assert (found["state"], found["object_key"]) == ("failed", "")
    await work(tenant)
    with pytest.raises(NotFound):
        await parts.objects.get(run["object_key"])


@pytest.mark.parametrize("dry_run", [True, False])
async def test_an_import_outlives_a_long_stop_of_all_workers(
    tenant: TenantWorld, dry_run: bool
) -> None:
    """When they start, its file is as old as one that nobody needs."""
    run = await queued(tenant, export(2), dry_run=dry_run)
    tenant.world.clock.advance(seconds=FILE_STAYS.total_seconds() + 1)
    job = Job(tenant.id, "x", SWEEP_JOB, {"run_id": run["id"]}, 1)
    await handlers(tenant.world.parts)[SWEEP_JOB](job)
    done = await worked(tenant, run)
    assert (done["state"], read_report(done["report"]).posts.imported) == ("done", 2)


async def test_a_preview_that_is_discarded_meanwhile_leaves_no_file(
    tenant: TenantWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its owner discards it, and its files are deleted, before it stores the samples."""
    run = await uploaded(tenant, export(1))
    parts = tenant.world.parts
    put = parts.objects.put

    async def discard_and_put(*args: Any, **options: Any) -> None:
        await discard_import(parts.records, system(tenant.id), run["id"])
        job = Job(tenant.id, "x", SWEEP_JOB, {"run_id": run["id"]}, 1)
        await handlers(parts)[SWEEP_JOB](job)
        await put(*args, **options)

    with monkeypatch.context() as patched:
        patched.setattr(parts.objects, "put", discard_and_put)
        job = await claimed(tenant, PREVIEW_JOB, {"run_id": run["id"], "task": PREVIEW})
        await handlers(parts)[PREVIEW_JOB](job)
    assert await rows(tenant, "import_runs") == []
    assert [key async for key in parts.objects.list_keys(tenant.id)] == []


async def test_no_upload_is_acknowledged_whose_file_the_sweep_has_removed(
    tenant: TenantWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock jumps while the bytes are stored, and a worker looks for abandoned uploads."""
    objects = tenant.world.parts.objects
    put = objects.put

    async def put_and_sweep(*args: Any, **options: Any) -> None:
        await put(*args, **options)
        tenant.world.clock.advance(hours=2)
        await work(tenant)

    with monkeypatch.context() as patched:
        patched.setattr(objects, "put", put_and_sweep)
        with pytest.raises(Unavailable):
            await uploaded(tenant, export(1))
    assert await rows(tenant, "import_runs") == []
    assert [key async for key in objects.list_keys(tenant.id)] == []
    run = await uploaded(tenant, export(1))
    tenant.world.clock.advance(hours=2)
    assert (await worked(tenant, run))["state"] == "done"
    assert [key async for key in objects.list_keys(tenant.id)]
    tenant.world.clock.advance(seconds=FILE_STAYS.total_seconds())
    await work(tenant)
    assert await rows(tenant, "import_runs") == []
    await work(tenant)
    assert [key async for key in objects.list_keys(tenant.id)] == []


async def uploaded(tenant: TenantWorld, content: bytes) -> Record:
    """As by the form of the admin, which queues a preview."""
    upload = Upload("file", "export.json", "application/json")
    await upload.fill(_once(content))
    caller = system(tenant.id)
    return await upload_export(tenant.world.parts, caller, upload, "ghost", options=Options())


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def test_the_pictures_of_an_import_are_not_retried_while_its_file_is_deleted(
    tenant: TenantWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker that deletes it is stopped in between, and its owner tries."""
    content = export(1, html='<p>Fog</p><img src="http://127.0.0.1:9/a.png">')
    run = await worked(tenant, await queued(tenant, content))
    parts = tenant.world.parts
    assert PICTURES in possible_tasks(run)
    answers = []

    async def stop(key: str) -> None:
        try:
            await start_task(parts.records, system(tenant.id), run["id"], PICTURES)
        except Conflict as refused:
            answers.append(str(refused))
        raise Unavailable

    tenant.world.clock.advance(seconds=FILE_STAYS.total_seconds() + 1)
    with monkeypatch.context() as patched:
        patched.setattr(parts.objects, "delete", stop)
        await work(tenant)
    assert answers == [TOO_LATE]
    assert (await parts.objects.get(run["object_key"])).size
    tenant.world.clock.advance(minutes=1)
    done = await worked(tenant, run)
    assert (done["state"], done["object_key"]) == ("done", "")
    with pytest.raises(NotFound):
        await parts.objects.get(run["object_key"])


async def test_a_dry_run_leaves_only_its_report(tenant: TenantWorld) -> None:
    run = await worked(tenant, await queued(tenant, export(3), dry_run=True))
    report = read_report(run["report"])
    assert report.summary()["posts"]["imported"] == 3
    assert report.dry_run
    assert await rows(tenant, "posts") == []
    assert await rows(tenant, "import_items") == []


@pytest.mark.parametrize(
    ("content", "options"), [(b"{}", Options()), (export(1)[:-10], Options(skip_members=True))]
)
async def test_a_bad_file_fails_at_once_and_writes_nothing(
    tenant: TenantWorld, content: bytes, options: Options
) -> None:
    run = await worked(tenant, await queued(tenant, content, options=options))
    assert run["state"] == "failed"
    assert run["error"].endswith(".")
    assert await rows(tenant, "posts") == []
    assert await rows(tenant, "jobs") == []


async def test_an_owner_sees_the_runs_and_cannot_make_one(tenant: TenantWorld, owner: Any) -> None:
    await worked(tenant, await queued(tenant, export(1)))
    answer = await owner.api.get("/api/collections/import_runs/records")
    (item,) = answer.json()["items"]
    assert (item["state"], item["platform"]) == ("done", "ghost")
    assert "object_key" not in item
    refused = await owner.api.post("/api/collections/import_runs/records", json={})
    assert refused.status_code == 403
    guest = await tenant.guest.get("/api/collections/import_runs/records")
    assert guest.status_code == 401


async def test_an_owner_may_change_redirects(tenant: TenantWorld, owner: Any) -> None:
    path = "/api/collections/redirects/records"
    made = await owner.api.post(path, json={"source": "/old/", "destination": "/posts/new"})
    assert made.json()["status_code"] == 301
    for bad in ({"source": "old"}, {"destination": "javascript:alert(1)"}, {"status_code": 200}):
        given = {"source": "/x/", "destination": "/posts/x"} | bad
        assert (await owner.api.post(path, json=given)).status_code == 400
    again = await owner.api.post(path, json={"source": "/old/", "destination": "/posts/other"})
    assert again.status_code == 400


async def test_a_worker_ends_in_the_middle_of_an_import(database_url: str, tmp_path: Path) -> None:
    world = await open_world(database_url, tmp_path, RunningClock())
    tenant = await world.new_tenant()
    run = await queued(tenant, export(400), batch_size=1)
    background = Background(world.parts)
    working = asyncio.create_task(background.run_forever())
    while len(await rows(tenant, "posts")) < 3:
        await asyncio.sleep(0)
    background.stop()
    await working
    (halted,) = await world.parts.records.find(import_runs, {"id": run["id"]}, tenant_id=tenant.id)
    assert halted["state"] == "running"
    assert 3 <= len(await rows(tenant, "posts")) < 400
    await world.parts.close()


async def test_a_worker_that_starts_deletes_the_copies_of_one_that_was_killed(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = await open_world(database_url, tmp_path, RunningClock())
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    tenant = await world.new_tenant()
    run = await queued(tenant, export(1))
    used: set[Path] = set()

    def start_another_worker() -> bool:
        delete_abandoned()
        used.update(folder.glob("*/export.json"))
        return False

    payload = {"run_id": run["id"], "task": "import"}
    job = await claimed(tenant, RUN_JOB, payload, 1, start_another_worker)
    await ImportJob(world.parts, job).run()
    [copy] = used
    assert list(folder.iterdir()) == []
    # As if it had been killed.
    copy.parent.mkdir()
    copy.write_bytes(export(1))
    background = Background(world.parts)
    working = asyncio.create_task(background.run_forever())
    async with asyncio.timeout(120):
        while list(folder.iterdir()):
            await asyncio.sleep(0.01)
    background.stop()
    await working
    await world.parts.close()
