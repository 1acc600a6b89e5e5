"""Operators make sites, watch the queue and find errors, without a shell."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.engine.jobs.test_runner import plan_of
from tests.faces.admin.visitor import BARE, OWN, Visitor, hidden_in, staff, visitor
from tests.outside.mail.offices import Office, text_of
from tests.web.routed import broken
from tests.world import TenantWorld, World, records_of

from masthead.base.caller import system
from masthead.engine.audit.collection import audit_log
from masthead.engine.jobs.runner import MAX_ATTEMPTS
from masthead.faces.admin.job_queue import QueueState
from masthead.features.posts.collection import posts
from masthead.service.background import job_runner
from masthead.web.error_log import MAX_PENDING, MAX_ROWS, RETENTION

QUEUE, ERRORS = "/admin/operator/queue", "/admin/operator/errors"
NEW = {"name": "The Harbour", "slug": "harbour", "plan": "pro", "email": "ana@example.com"}
READER = "ana@example.com"
PASSWORD = "a long password of one's own"


async def operator_of(world: World) -> Visitor:
    return visitor(world, await world.operator(name="Olga"), BARE)


async def test_a_new_sites_owner_accepts_the_invitation_and_signs_in(office: Office) -> None:
    operator = await operator_of(office.world)
    page = await operator.follow(await operator.post("/admin/tenants/new", NEW))
    assert "The Harbour is ready" in page
    assert "has not chosen a password yet" in page
    mail = text_of(await office.mail_to("ana@example.com"))
    (link,) = re.findall(r"http://\S+token=\S+", mail)
    owner = Visitor(office.world.client("harbour.localhost"))
    chosen = {"password": PASSWORD, "passwordConfirm": PASSWORD}
    assert "Your password is set" in (await owner.api.post(link, data=chosen)).text
    form = {"email": "ana@example.com", "password": PASSWORD}
    answer = await owner.api.post("/admin/sign-in", data=form, headers=OWN)
    assert answer.status_code == 303
    assert "The Harbour" in (await owner.get("/admin")).text
    found = await office.world.parts.records.find(audit_log, {"subject": "tenants"}, limit=10)
    assert [each["label"] for each in found] == ["The Harbour"]
    again = re.search(r"/admin/tenants/(\w{15})/plan", page)
    assert again
    refused = await operator.post(f"/admin/tenants/{again[1]}/invite")
    assert refused.status_code == 400


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"slug": "Not a slug"}, "slug"),
        ({"slug": ""}, "slug"),
        ({"slug": "taken"}, "slug"),
        ({"name": ""}, "name"),
        ({"email": "nobody"}, "email"),
        ({"plan": "gold"}, "plan"),
    ],
)
async def test_what_is_wrong_with_a_new_site_is_said_at_its_field(
    app: World, change: dict[str, str], field: str
) -> None:
    taken = await app.new_tenant("demo")
    operator = await operator_of(app)
    if change.get("slug") == "taken":
        change = {"slug": taken.slug}
    answer = await operator.post("/admin/tenants/new", {**NEW, **change})
    assert answer.status_code == 422
    assert f'id="{field}-error"' in answer.text
    assert await app.parts.directory.by_slug("harbour") is None


async def test_a_plan_and_its_limits_hold_from_the_next_call_on(
    app: World, tenant: TenantWorld
) -> None:
    operator = await operator_of(app)
    page = f"/admin/tenants/{tenant.id}"
    limits = {"per_minute": "7", "per_hour": "", "per_day": "1000"}
    shown = await operator.follow(
        await operator.post(f"{page}/plan", {"plan": "enterprise", **limits})
    )
    assert 'value="7"' in shown
    found = await app.parts.directory.by_id(tenant.id)
    assert found
    assert (found.plan, found.per_minute, found.per_hour) == ("enterprise", 7, None)
    refused = await operator.post(f"{page}/plan", {"plan": "pro", "per_minute": "-1"})
    assert refused.status_code == 422
    assert (await operator.get("/admin/tenants/aaaaaaaaaaaaaaa")).status_code == 404


async def test_a_list_of_many_sites_goes_on_with_the_same_search(app: World) -> None:
    operator = await operator_of(app)
    for number in range(52):
        await app.new_tenant(f"press-{number}")
    page = (await operator.get("/admin/tenants?q=press")).text
    assert "press-51" in page
    (older,) = set(re.findall(r'href="(/admin/tenants\?q=press&amp;after=[^"]*)"', page))
    assert "press-0<" in (await operator.get(older.replace("&amp;", "&"))).text


async def fail_for_good(app: World, tenant: TenantWorld) -> None:
    async with app.parts.records.unit(system(tenant.id)) as unit:
        await unit.enqueue("posts.publish", {"nonsense": True})
    runner = job_runner(app.parts)
    for _ in range(MAX_ATTEMPTS):
        await runner.run_due()
        app.clock.advance(days=1)


async def test_the_list_of_sites_says_how_much_is_stored(app: World) -> None:
    tenant = await app.new_tenant("stored")
    owner = await tenant.owner()
    sent = {"file": ("rain.txt", b"rain " * 2_000_000)}
    item = (await owner.api.post(records_of("media"), files=sent)).json()
    browser = await operator_of(app)
    # The sums of all sites are as of the last minute, also that of another test.
    app.clock.advance(minutes=10)
    listed = (await browser.get(f"/admin/tenants?q={tenant.slug}")).text
    assert re.search(r"<dt>Database</dt>\s*<dd class=\"num\">[\d,.]+ [KMG]B", listed)
    assert re.search(r"<dt>Free disk</dt>\s*<dd class=\"num\">[\d,.]+ [KMG]B<", listed)
    assert ">10.0 MB<" in listed
    # A phone has no columns.
    assert "Posts 0, members 0, media 10.0 MB" in " ".join(listed.split())
    all_media, all_trash = stored_in(listed, "Media"), stored_in(listed, "Media in the trash")
    page = (await browser.get(f"/admin/tenants/{tenant.id}")).text
    assert (stored_in(page, "Media"), stored_in(page, "Media in the trash")) == (10.0, 0.0)
    assert (await owner.api.delete(f"{records_of('media')}/{item['id']}")).status_code == 204
    app.clock.advance(minutes=1)
    listed = (await browser.get(f"/admin/tenants?q={tenant.slug}")).text
    page = (await browser.get(f"/admin/tenants/{tenant.id}")).text
    assert (stored_in(page, "Media"), stored_in(page, "Media in the trash")) == (0.0, 10.0)
    # Of all sites of the tests.
    assert stored_in(listed, "Media") == pytest.approx(all_media - 10, abs=0.2)
    assert stored_in(listed, "Media in the trash") == pytest.approx(all_trash + 10, abs=0.2)


def stored_in(page: str, label: str) -> float:
    """In megabytes."""
    found = re.search(rf"<dt>{label}</dt>\s*<dd class=\"num\">([\d,.]+) (\w+)<", page)
    assert found, page
    factor = {"KB": 1e-3, "MB": 1, "GB": 1e3}[found[2]]
    return float(found[1].replace(",", "")) * factor


async def test_a_job_that_failed_for_good_is_shown_run_again_and_discarded(
    app: World, tenant: TenantWorld
) -> None:
    await fail_for_good(app, tenant)
    operator = await operator_of(app)
    page = (await operator.get(QUEUE)).text
    assert "Failed for good" in page
    (failed,) = (row for row in page.split("<tr>") if tenant.id in row)
    assert "posts.publish" in failed
    named = {name: value for name, value in hidden_in(failed).items() if name in ("tenant", "job")}
    again = await operator.follow(await operator.post(QUEUE, {**named, "action": "retry"}))
    assert "The job will run again" in again
    assert tenant.id not in again
    twice = await operator.follow(await operator.post(QUEUE, {**named, "action": "retry"}))
    assert "no longer in the list of failed jobs" in twice
    await fail_for_good(app, tenant)
    operator = await operator_of(app)
    await operator.post(QUEUE, {**named, "action": "discard"})
    assert named["job"] not in (await operator.get(QUEUE)).text


async def test_what_an_operator_does_with_failed_work_is_in_the_sites_log(
    app: World, tenant: TenantWorld
) -> None:
    operator = await operator_of(app)
    for action, sentence in (("retry", "ran a job again"), ("discard", "discarded a job")):
        await fail_for_good(app, tenant)
        operator = await operator_of(app)
        failed = [each for each in await queue_of(app).list_failed() if each.tenant_id == tenant.id]
        named = {"tenant": tenant.id, "job": failed[0].id, "action": action}
        await operator.post(QUEUE, named)
        # Nothing is left to change.
        await operator.post(QUEUE, named)
        found = await app.parts.records.find(
            audit_log, {"action": sentence}, tenant_id=tenant.id, limit=10
        )
        assert [(each["label"], each["role"]) for each in found] == [("posts.publish", "operator")]
    owner, _ = await staff(tenant, "owner")
    page = (await owner.get("/admin/activity")).text
    assert "Ran a failed job again:" in page
    assert "Discarded failed work:" in page


async def test_a_forged_site_of_a_job_changes_nothing(app: World, tenant: TenantWorld) -> None:
    await fail_for_good(app, tenant)
    [failed] = [each for each in await queue_of(app).list_failed() if each.tenant_id == tenant.id]
    operator = await operator_of(app)
    other = await app.new_tenant("another")
    for forged in (other.id, "aaaaaaaaaaaaaaa", ""):
        named = {"tenant": forged, "job": failed.id, "action": "discard"}
        assert "no longer in the list of failed" in await operator.follow(
            await operator.post(QUEUE, named)
        )
    assert failed in await queue_of(app).list_failed()


def queue_of(app: World) -> QueueState:
    return QueueState(app.parts.database, ("posts.publish",), app.clock)


async def test_the_queue_is_counted_without_reading_what_waits(app: World) -> None:
    plan = await plan_of(app, queue_of(app)._states)
    assert "ix_jobs__leased" in plan
    assert "Seq Scan" not in plan
    assert "SCAN jobs" not in plan.replace("SCAN jobs USING", "")
    if app.engine == "sqlite":
        # PostgreSQL chooses by statistics, which say that there are few jobs here.
        assert "ix_jobs__failed" in await plan_of(app, queue_of(app)._failed)


async def test_work_that_waits_for_a_worker_is_noticed(app: World, tenant: TenantWorld) -> None:
    await tenant.post(title="A picture to make")
    async with app.parts.records.unit(system(tenant.id)) as unit:
        await unit.enqueue("posts.publish", {"id": "x"})
    app.clock.advance(minutes=6)
    operator = await operator_of(app)
    assert "No worker seems to be running" in (await operator.get(QUEUE)).text


async def break_the_service(app: World) -> str:
    """The request id of an answer that failed by our fault."""
    error_log = app.parts.error_log
    try:
        raise ZeroDivisionError(READER)
    except ZeroDivisionError as error:
        error_log.record(error, "r" * 15, "", "GET", path="/posts/<script>alert(1)</script>")
    await error_log.flush()
    return "r" * 15


async def test_an_error_is_found_by_its_request_id(app: World) -> None:
    request_id = await break_the_service(app)
    operator = await operator_of(app)
    page = (await operator.get(ERRORS)).text
    assert "ZeroDivisionError" in page
    assert "<script>alert" not in page
    found = await operator.get(f"{ERRORS}?id={request_id}")
    assert found.headers["location"] == f"{ERRORS}/{request_id}"
    details = (await operator.get(found.headers["location"])).text
    assert "break_the_service" in details
    # Messages may hold what readers have sent.
    assert READER not in details
    assert "No stored error" in (await operator.get(f"{ERRORS}?id=unknown")).text
    assert (await operator.get(f"{ERRORS}/unknown")).status_code == 404


async def test_a_burst_of_errors_is_stored_in_part_and_forgotten_after_a_while(app: World) -> None:
    error_log = app.parts.error_log
    # Other tests of the same service may have stored some before.
    app.clock.advance(days=1)
    for number in range(MAX_PENDING + 50):
        error_log.record(ValueError(), f"{number:015}", "", "GET", path="/")
    await error_log.flush()
    newest = {each.request_id for each in await error_log.newest()}
    assert newest == {f"{number:015}" for number in range(MAX_PENDING)}
    app.clock.advance(days=RETENTION.days + 1)
    await error_log.sweep()
    assert await error_log.newest() == []


async def test_the_oldest_errors_go_where_there_are_too_many(app: World) -> None:
    error_log = app.parts.error_log
    await record_errors(app, "a", MAX_PENDING)
    app.clock.advance(seconds=1)
    await record_errors(app, "b", MAX_ROWS)
    assert await error_log.find("a" + "0" * 14) is None
    assert await error_log.find("b" + "0" * 14)
    app.clock.advance(days=RETENTION.days + 1)
    await error_log.sweep()


async def record_errors(app: World, prefix: str, count: int) -> None:
    for number in range(count):
        app.parts.error_log.record(ValueError(), f"{prefix}{number:014}", "", "GET", path="/")
        if number % MAX_PENDING == MAX_PENDING - 1:
            await app.parts.error_log.flush()


@pytest.mark.parametrize("path", ["/admin/tenants/new", QUEUE, ERRORS, f"{ERRORS}/x"])
async def test_these_pages_are_for_operators(tenant: TenantWorld, path: str) -> None:
    owner, _ = await staff(tenant, "owner")
    assert (await owner.get(path)).status_code == 403
    if path in ("/admin/tenants/new", QUEUE):
        forged: dict[str, Any] = {**NEW, "action": "retry", "tenant": tenant.id, "job": "x"}
        assert (await owner.post(path, forged)).status_code == 403
    changed = await owner.post(f"/admin/tenants/{tenant.id}/plan", {"plan": "enterprise"})
    assert changed.status_code == 403
    assert (await owner.get(f"/admin/tenants/{tenant.id}")).status_code == 403


async def test_the_front_door_stores_what_it_answers_with_500(app: World) -> None:
    """A real request that fails by a fault."""
    from masthead.service.app import front_door
    from masthead.web.dispatch import Dispatch

    answer = await app.client(
        app=front_door(app.parts, Dispatch([], broken(ZeroDivisionError())))
    ).get("/api/v1/posts?secret=1")
    assert answer.status_code == 500
    await app.parts.error_log.flush()
    stored = await app.parts.error_log.find(answer.headers["x-request-id"])
    assert stored is not None
    assert (stored.path, stored.error) == ("/api/v1/posts", "ZeroDivisionError")
    assert posts.name not in stored.trace


async def test_a_form_without_its_fields_is_refused(app: World) -> None:
    operator = await operator_of(app)
    answer = await operator.post("/admin/tenants/new", {"plan": "free"})
    assert answer.status_code == 422


async def test_an_erasure_that_failed_can_only_be_run_again(
    app: World, tenant: TenantWorld
) -> None:
    async with app.parts.records.unit(system(tenant.id)) as unit:
        job_id = await unit.enqueue("privacy.erase", {"nonsense": True})
    runner = job_runner(app.parts)
    for _ in range(MAX_ATTEMPTS):
        await runner.run_due()
        app.clock.advance(days=1)
    operator = await operator_of(app)
    named = {"tenant": tenant.id, "job": job_id}
    await operator.post(QUEUE, {**named, "action": "discard"})
    assert job_id in (await operator.get(QUEUE)).text
    await operator.post(QUEUE, {**named, "action": "retry"})
    assert job_id not in (await operator.get(QUEUE)).text


@pytest.mark.parametrize(
    "path",
    [
        "/admin/posts?q=a&after=garbage~aaaaaaaaaaaaaaa",
        "/admin/posts?q=a&after=~aaaaaaaaaaaaaaa",
        "/admin/posts?status=draft&tag=%00",
        "/admin/posts/%00",
        "/admin/comments?member=%00&post=%00",
        "/admin/media?q=a&after=garbage~aaaaaaaaaaaaaaa",
        "/admin/operator/errors?id=%00",
        "/admin/operator/errors/%00",
    ],
)
async def test_no_address_makes_the_service_fail(
    app: World, tenant: TenantWorld, path: str
) -> None:
    operator = visitor(app, await app.operator(), tenant.host)
    assert (await operator.get(path)).status_code in (200, 303, 404)


async def test_an_error_at_a_path_with_nul_is_stored(app: World) -> None:
    app.parts.error_log.record(ValueError(), "n" * 15, "", "GET", path="/posts/\0")
    await app.parts.error_log.flush()
    found = await app.parts.error_log.find("n" * 15)
    assert found
    assert found.path == "/posts/\ufffd"
