"""Service, worker and commands behind PgBouncer in transaction mode."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.databases import empty_postgres_url
from tests.pooler import needs_pgbouncer, through_pooler
from tests.service.cli.commands import Masthead
from tests.service.cli.running import serving

pytestmark = needs_pgbouncer


@pytest.mark.sweep
def test_everything_works_through_a_pooler(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    url = through_pooler(empty_postgres_url())
    masthead = Masthead(url, tmp_path / "data", capfd)
    masthead.json("migrate")
    masthead.tenant("acme")
    scopes = ("--scope", "posts:read", "--scope", "posts:write")
    key = masthead.json("key", "create", "--tenant", "acme", "--name", "k", *scopes)["key"]

    with serving(masthead.data_dir, "--database-url", url) as running:
        bearer = {"Authorization": f"Bearer {key}"}
        for number in range(20):
            body = {"title": f"Post {number}", "content_html": "<p>x</p>", "status": "published"}
            assert running.post("/api/v1/posts", body, "acme", **bearer).status_code == 201
        # The search index is the worker's.
        found = running.get("/api/v1/posts?per_page=50", "acme", **bearer).json()
        assert len(found["items"]) == 20
        assert running.get("/", "acme").status_code == 200
        archive = str(tmp_path / "backup.tar")
        stored = masthead.json("backup", archive)
        assert masthead.json("doctor")["ok"]

    fresh = Masthead(through_pooler(empty_postgres_url()), tmp_path / "restored", capfd)
    # Twice on the same servers of the pooler: what the first leaves behind is in nobody's way.
    for target in (fresh, Masthead(through_pooler(empty_postgres_url()), tmp_path / "2", capfd)):
        restored = target.json("restore", archive)
        assert restored["records"] == stored["records"] > 20
    assert [each["slug"] for each in fresh.json("tenant", "list")] == ["acme"]
