"""The commands for accidents: a site is closed, a password is lost, an import was a mistake."""

from __future__ import annotations

import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.forking import forked_program
from tests.service.cli.commands import Masthead, plain_environment
from tests.service.cli.test_import import ghost_export
from tests.service.cli.test_secret_values import at_a_terminal

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.errors import BadRequest
from masthead.base.ids import TenantId
from masthead.engine.audit.collection import audit_log
from masthead.engine.records.read.page import ListRequest
from masthead.faces.importers.collection import import_runs
from masthead.features.members.collection import blog_members
from masthead.features.posts.collection import posts
from masthead.identity.one_time_codes import new_totp_secret
from masthead.identity.tenants import superusers, tenants
from masthead.outside.mail.tables import mails
from masthead.service.background import job_runner
from masthead.service.services import Services
from masthead.storage.database import EVERY_TENANT

NOTHING_TO_ASK = "masthead: Missing option '--yes': there is no terminal to ask on.\n"


def audited(masthead: Masthead) -> list[tuple[str, str, str]]:
    """Returns what the audit logs have of the command line: action, subject and new status."""

    async def look(parts: Services) -> list[tuple[str, str, str]]:
        wanted = ListRequest(per_page=100, sort="created", filter="role = 'command line'")
        items = (await parts.records.page(system(), audit_log, wanted)).items
        return [(each["action"], each["subject"], each["status"]) for each in items]

    found: list[tuple[str, str, str]] = masthead.inside(look)
    return found


async def run_jobs(parts: Services) -> None:
    runner = job_runner(parts)
    while await runner.run_due():
        pass


def states(masthead: Masthead) -> dict[str, str]:
    return {each["slug"]: each["state"] for each in masthead.json("tenant", "list")}


def can_sign_in(masthead: Masthead, tenant_id: str, email: str, password: str) -> bool:
    async def work(parts: Services) -> bool:
        at = TenantId(tenant_id) if tenant_id else None
        try:
            await parts.accounts.sign_in(superusers, at, email, password, address="127.0.0.1")
        except BadRequest:
            return False
        return True

    return bool(masthead.inside(work))


class TestTrash:
    def test_a_deleted_post_is_listed_restored_and_deleted_for_good(
        self, masthead: Masthead
    ) -> None:
        tenant_id = TenantId(masthead.tenant("acme")["tenant_id"])

        async def delete(parts: Services) -> str:
            post = await parts.records.create(system(tenant_id), posts, {"title": "Rain"})
            await parts.records.delete(system(tenant_id), posts, post["id"])
            return str(post["id"])

        at = ("--tenant", "acme")
        post_id = masthead.inside(delete)
        [entry] = masthead.json("trash", "list", *at)
        assert (entry["id"], entry["type"], entry["title"]) == (post_id, "posts", "Rain")
        assert masthead.json("trash", "list", *at, "--type", "media") == []
        shown = masthead.json("trash", "restore", *at, post_id)
        assert shown == {"id": post_id, "type": "posts", "title": "Rain", "slug": "rain"}
        missing = masthead("trash", "restore", *at, post_id)
        assert missing.code == 1
        assert missing.err == f"masthead: The trash of acme has no entry {post_id!r}.\n"

        masthead.inside(delete)
        refused = masthead("trash", "empty", *at)
        assert (refused.code, refused.err) == (2, NOTHING_TO_ASK)
        assert masthead.json("trash", "empty", *at, "--yes") == {"deleted": 1}
        assert masthead.json("trash", "list", *at) == []
        assert audited(masthead) == [("restored", "posts", ""), ("emptied the trash", "", "")]


class TestSites:
    def test_a_suspended_site_is_opened_again(self, masthead: Masthead) -> None:
        masthead.tenant("acme")
        masthead.tenant("other")
        assert states(masthead) == {"acme": "active", "other": "active"}
        reason = ("--reason", "An unpaid bill.")
        shown = masthead.json("tenant", "suspend", "acme", *reason, "--yes")
        assert (shown["slug"], shown["state"]) == ("acme", "suspended")
        assert states(masthead) == {"acme": "suspended", "other": "active"}

        async def stored(parts: Services) -> Any:
            return (await parts.records.find(tenants, {"slug": "acme"}))[0]

        assert masthead.inside(stored)["suspension_reason"] == "An unpaid bill."
        assert masthead.json("tenant", "resume", "acme", "--yes")["state"] == "active"
        assert states(masthead) == {"acme": "active", "other": "active"}
        assert audited(masthead) == [
            ("changed", "tenants", "suspended"),
            ("changed", "tenants", "active"),
        ]

    def test_a_deleted_site_is_closed_at_once_and_kept_for_30_days(
        self, masthead: Masthead
    ) -> None:
        made = masthead.tenant("acme")
        shown = masthead.json("tenant", "delete", "acme", "--yes")
        assert shown["state"] == "deleting"
        left = clock.from_text(shown["erased_after"]) - clock.now()
        assert timedelta(days=29, hours=23) < left <= timedelta(days=30)

        async def closed(parts: Services) -> bool:
            found = await parts.directory.by_id(made["tenant_id"])
            return found is not None and found.is_suspended

        assert masthead.inside(closed)
        # A second deletion does not postpone it.
        again = masthead.json("tenant", "delete", "acme", "--yes")
        assert again["erased_after"] == shown["erased_after"]
        assert masthead.json("tenant", "resume", "acme")["state"] == "active"
        assert not masthead.inside(closed)
        assert states(masthead) == {"acme": "active"}
        assert ("planned a deletion", "", "") in audited(masthead)
        assert ("cancelled a deletion", "", "") in audited(masthead)

    def test_a_deleted_site_is_gone_after_30_days(self, masthead: Masthead) -> None:
        masthead.tenant("acme")
        masthead.tenant("other")
        masthead("tenant", "delete", "acme", "--yes")

        async def later(parts: Services) -> list[str]:
            await run_jobs(parts)
            return [each["slug"] for each in await parts.records.find(tenants, {}, limit=9)]

        assert masthead.inside(later) == ["acme", "other"]
        after = timedelta(days=30, minutes=1)
        assert masthead.inside(later, lambda: clock.now() + after) == ["other"]

    def test_an_open_site_that_is_resumed_stays_as_it_is(self, masthead: Masthead) -> None:
        masthead.tenant("acme")
        assert masthead.json("tenant", "resume", "acme")["state"] == "active"
        assert audited(masthead) == []


class TestPasswords:
    def test_of_an_operator_is_set_and_every_session_ends(self, masthead: Masthead) -> None:
        arguments = ("operator", "create", "--email", "op@example.com", "--password")
        made = masthead.json(*arguments, "a-long-word")

        async def begin(parts: Services) -> str:
            at = await parts.accounts.sign_in(
                superusers, None, "op@example.com", "a-long-word", address="127.0.0.1"
            )
            return at.token

        token = masthead.inside(begin)

        async def is_valid(parts: Services) -> bool:
            return await parts.accounts.sessions.caller_of(token) is not None

        assert masthead.inside(is_valid)
        reset = ("operator", "reset-password", "--email", "Op@Example.com", "--password", "-")
        done = masthead.piped("another password\n", *reset)
        assert done.code == 0, done.err
        assert not masthead.inside(is_valid)
        assert not can_sign_in(masthead, "", "op@example.com", "a-long-word")
        assert can_sign_in(masthead, "", "op@example.com", "another password")
        assert ("changed", "_superusers", "") in audited(masthead)
        assert [each["id"] for each in masthead.json("operator", "list")] == [made["id"]]

    def test_of_an_owner_is_set(self, masthead: Masthead) -> None:
        made = masthead.tenant()
        reset = ("owner", "reset-password", "--tenant", "acme", "--email", "owner@acme.example")
        shown = masthead.json(*reset, "--password", "another password")
        assert shown == {"id": made["owner_id"], "email": "owner@acme.example"}
        assert can_sign_in(masthead, made["tenant_id"], "owner@acme.example", "another password")

    @pytest.mark.parametrize("who", ["operator", "owner"])
    def test_without_a_password_and_a_terminal_it_is_wrong_usage(
        self, masthead: Masthead, who: str
    ) -> None:
        masthead.tenant()
        place = ("--tenant", "acme") if who == "owner" else ()
        refused = masthead.piped("", who, "reset-password", *place, "--email", "a@example.com")
        assert (refused.code, refused.out) == (2, "")
        assert "`--password -` reads it from standard input" in refused.err

    def test_of_an_unknown_account_or_a_short_one_is_refused(self, masthead: Masthead) -> None:
        masthead.tenant()
        refused = masthead(
            "operator",
            "reset-password",
            "--email",
            "owner@acme.example",
            "--password",
            "a-long-word",
        )
        assert refused.code == 1
        assert "There is no operator 'owner@acme.example'" in refused.err
        owner = ("owner", "reset-password", "--tenant", "acme", "--email")
        assert masthead(*owner, "x@example.com", "--password", "a-long-word").code == 1
        short = masthead(*owner, "owner@acme.example", "--password", "short")
        assert short.code == 1
        assert short.err.startswith("masthead: password: ")


class TestOwnerInvite:
    def mailed(self, masthead: Masthead) -> list[str]:
        async def look(parts: Services) -> list[str]:
            statement = parts.database.compile(sa.select(mails.c.recipient))
            return [row[0] for row in await parts.database.fetch(EVERY_TENANT, statement, ())]

        found: list[str] = masthead.inside(look)
        return found

    def test_makes_an_owner_without_a_password_who_gets_an_email(self, masthead: Masthead) -> None:
        masthead.tenant()
        invite = ("owner", "invite", "--tenant", "acme", "--email")
        made = masthead.json(*invite, "New@Example.com", "--name", "Nora")
        assert self.mailed(masthead) == ["new@example.com"]

        async def look(parts: Services) -> Any:
            return (await parts.records.find(superusers, {"id": made["id"]}))[0]

        account = masthead.inside(look)
        assert (account["role"], account["name"], account["password_hash"]) == ("owner", "Nora", "")
        # Again: the same account, another email.
        assert masthead.json(*invite, "new@example.com") == made
        assert self.mailed(masthead) == ["new@example.com"] * 2
        assert ("created", "_superusers", "") in audited(masthead)

    def test_one_who_has_a_password_is_not_invited(self, masthead: Masthead) -> None:
        masthead.tenant()
        refused = masthead("owner", "invite", "--tenant", "acme", "--email", "owner@acme.example")
        assert refused.code == 1
        assert "already has a password" in refused.err
        assert self.mailed(masthead) == []


class TestDeletedAccounts:
    def test_an_operator_goes_with_their_sessions(self, masthead: Masthead) -> None:
        for name in ("one", "two"):
            create = ("operator", "create", "--email", f"{name}@example.com")
            masthead(*create, "--password", "a-long-word")
        shown = masthead.json("operator", "delete", "--email", "one@example.com", "--yes")
        assert shown["email"] == "one@example.com"
        listed = masthead.json("operator", "list")
        assert [each["email"] for each in listed] == ["two@example.com"]
        assert not can_sign_in(masthead, "", "one@example.com", "a-long-word")
        assert audited(masthead) == [("deleted", "_superusers", "")]

    def test_members_are_listed_and_deleted(self, masthead: Masthead) -> None:
        masthead.tenant()
        masthead.tenant("other")
        for name in ("ann", "bob"):
            for slug in ("acme", "other"):
                member = ("member", "create", "--tenant", slug, "--email", f"{name}@example.com")
                assert masthead.piped("", *member).code == 0
        members = ("member", "list", "--tenant", "acme")
        listed = masthead.json(*members)
        assert [each["email"] for each in listed] == ["bob@example.com", "ann@example.com"]
        assert [each["email"] for each in masthead.json(*members, "--limit", "1")] == [
            "bob@example.com"
        ]
        found = masthead.json(*members, "--search", "ann@")
        assert [each["email"] for each in found] == ["ann@example.com"]
        delete = ("member", "delete", "--tenant", "acme", "--email", "Ann@example.com")
        assert masthead.json(*delete, "--yes")["email"] == "ann@example.com"
        assert [each["email"] for each in masthead.json(*members)] == ["bob@example.com"]
        assert masthead(*delete, "--yes").code == 1

        async def everywhere(parts: Services) -> int:
            return len(await parts.records.find(blog_members, {}, limit=9))

        assert masthead.inside(everywhere) == 3
        assert audited(masthead) == [("deleted", "blog_members", "")]


def test_an_import_is_undone_by_the_worker(masthead: Masthead, tmp_path: Path) -> None:
    masthead.tenant()
    export = tmp_path / "ghost.json"
    export.write_text(ghost_export(3))
    arguments = ("--file", str(export), "--tenant", "acme", "--output-redirects")
    assert masthead("import", "ghost", *arguments, str(tmp_path / "r.csv")).code == 0
    (run,) = masthead.json("import", "list", "--tenant", "acme")
    assert (run["file_name"], run["task"], run["state"]) == ("ghost.json", "import", "done")
    undo = ("import", "undo", "--tenant", "acme", run["id"])
    shown = masthead.json(*undo, "--yes", "--wait", "0")
    assert (shown["task"], shown["state"], shown["removed"]) == ("undo", "queued", {})
    twice = masthead(*undo, "--yes")
    assert (twice.code, twice.err) == (1, "masthead: This import is already running.\n")

    async def work(parts: Services) -> int:
        await run_jobs(parts)
        return len(await parts.records.find(posts, {}))

    assert masthead.inside(work) == 0
    (run,) = masthead.json("import", "list", "--tenant", "acme")
    assert (run["task"], run["state"]) == ("undo", "done")
    assert run["removed"] == {"posts": 3, "redirects": 5}
    assert "done: 8 removed, 0 left" in masthead("import", "list", "--tenant", "acme").out
    assert ("changed", "import_runs", "undo") in audited(masthead)
    unknown = masthead("import", "undo", "--tenant", "acme", "nothing", "--yes")
    assert "acme has no import 'nothing'" in unknown.err


def test_an_undo_says_what_it_has_removed_and_what_is_left(
    masthead: Masthead, tmp_path: Path
) -> None:
    masthead.tenant()
    export = tmp_path / "ghost.json"
    export.write_text(ghost_export(3))
    arguments = ("--file", str(export), "--tenant", "acme", "--output-redirects")
    assert masthead("import", "ghost", *arguments, str(tmp_path / "r.csv")).code == 0
    (run,) = masthead.json("import", "list", "--tenant", "acme")

    async def edit(parts: Services) -> None:
        (post,) = await parts.records.find(posts, {"slug": "post-1"})
        async with parts.records.unit(system(post["tenant_id"])) as unit:
            await unit.update(posts, post["id"], {"title": "Edited here"})

    masthead.inside(edit)
    command = [forked_program(), "import", "undo", "--tenant", "acme", run["id"], "--yes"]
    waiting = subprocess.Popen(
        [*command, *masthead.options], env=plain_environment(), stdout=subprocess.PIPE, text=True
    )

    async def work(parts: Services) -> None:
        while (await parts.records.find(import_runs, {}))[0]["state"] != "queued":
            assert waiting.poll() is None
        await run_jobs(parts)

    masthead.inside(work)
    out, _ = waiting.communicate(timeout=120)
    assert (waiting.returncode, out.splitlines()) == (
        0,
        [
            "The import of ghost.json is undone.",
            "Removed: 2 posts, 4 redirects.",
            "Left, edited here since the import: 1",
            "  post Edited here",
            "Left, used by something that stays: 1",
            "  redirect /post-1/",
        ],
    )


def test_what_can_not_be_taken_back_needs_a_yes(masthead: Masthead, tmp_path: Path) -> None:
    masthead.tenant()
    masthead("operator", "create", "--email", "op@example.com", "--password", "a-long-word")
    member = ("--tenant", "acme", "--email", "ann@example.com")
    masthead.piped("", "member", "create", *member)
    export = tmp_path / "ghost.json"
    export.write_text(ghost_export(1))
    place = ("--file", str(export), "--tenant", "acme", "--output-redirects")
    masthead("import", "ghost", *place, str(tmp_path / "r.csv"))
    (run,) = masthead.json("import", "list", "--tenant", "acme")
    for arguments in (
        ("tenant", "suspend", "acme"),
        ("tenant", "delete", "acme"),
        ("operator", "delete", "--email", "op@example.com"),
        ("member", "delete", *member),
        ("import", "undo", "--tenant", "acme", run["id"]),
    ):
        refused = masthead.piped("y\n", *arguments)
        assert (refused.code, refused.out, refused.err) == (2, "", NOTHING_TO_ASK), arguments
    assert states(masthead) == {"acme": "active"}
    assert audited(masthead) == []


def test_on_a_terminal_it_is_asked_for(masthead: Masthead) -> None:
    masthead.tenant()
    arguments = ("tenant", "suspend", "acme", *masthead.options)
    code, shown = at_a_terminal(arguments, {"[y/N]:": "n"})
    assert (code, "Nothing was changed." in shown) == (1, True), shown
    assert states(masthead) == {"acme": "active"}
    code, shown = at_a_terminal(arguments, {"[y/N]:": "y"})
    assert code == 0, shown
    assert states(masthead) == {"acme": "suspended"}


class TestLostFactors:
    @pytest.mark.parametrize("who", ["operator", "owner"])
    def test_they_are_removed_logged_and_told(self, masthead: Masthead, who: str) -> None:
        if who == "owner":
            masthead.tenant()
            email, place = "owner@acme.example", ("--tenant", "acme")
        else:
            email, place = "op@example.com", ()
            masthead.json("operator", "create", "--email", email, "--password", "a-long-word")

        async def guard(parts: Services) -> None:
            [account] = await parts.records.find(superusers, {"email": email})
            caller = system(TenantId(account["tenant_id"]))
            await parts.factors.add_app(caller, account, new_totp_secret(), 1)

        async def factors(parts: Services) -> tuple[str, int]:
            [account] = await parts.records.find(superusers, {"email": email})
            return account["totp_secret"], len(account["recovery_hashes"])

        masthead.inside(guard)
        assert masthead.inside(factors)[1] == 10
        shown = masthead.json(who, "reset-factors", *place, "--email", email)
        assert shown["email"] == email
        assert masthead.inside(factors) == ("", 0)
        assert ("reset factors", "", "") in audited(masthead)
        unknown = masthead(who, "reset-factors", *place, "--email", "x@example.com")
        assert unknown.code == 1


def test_counts_of_views_are_deleted_after_a_question(masthead: Masthead) -> None:
    masthead.tenant("acme")
    refused = masthead("tenant", "stats-clear", "acme")
    assert (refused.code, refused.err) == (2, NOTHING_TO_ASK)
    assert masthead.json("tenant", "stats-clear", "acme", "--yes")["slug"] == "acme"
    assert masthead("tenant", "stats-clear", "nobody", "--yes").code == 1


def test_code_of_owners_is_allowed_and_not_allowed_again(masthead: Masthead) -> None:
    masthead.tenant("acme")
    refused = masthead("settings", "set", "--tenant", "acme", "head_html=<b>")
    assert refused.code == 1
    assert "has not allowed code" in refused.err
    assert masthead.json("tenant", "allow-code", "acme")["code_allowed"] is True
    assert masthead("settings", "set", "--tenant", "acme", "head_html=<b>").code == 0
    assert masthead.json("tenant", "allow-code", "acme", "--off")["code_allowed"] is False
    shown = masthead.json("settings", "get", "--tenant", "acme")
    assert (shown["code_allowed"], shown["head_html"]) == (False, "<b>")
    assert masthead("tenant", "allow-code", "nobody").code == 1
