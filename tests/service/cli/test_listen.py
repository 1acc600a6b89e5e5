"""`masthead listen` as a process: what happens on a site, line by line, until it is interrupted."""

from __future__ import annotations

import json
import os
import pty
import queue
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from tests.forking import forked_program
from tests.service.cli.commands import Masthead, plain_environment

from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.features.comments.collection import comments
from masthead.features.posts.collection import posts

SECONDS = 120


class Listening:
    def __init__(self, process: subprocess.Popen[str], out: IO[str]) -> None:
        self.process = process
        self._out, self._err = queue.Queue[str](), queue.Queue[str]()
        for stream, lines in ((out, self._out), (process.stderr, self._err)):
            threading.Thread(target=self._read, args=(stream, lines), daemon=True).start()
        self.greeting = self._err.get(timeout=SECONDS)

    def _read(self, stream: IO[str], lines: queue.Queue[str]) -> None:
        # A terminal raises an error once the process has closed its side.
        with stream, suppress(OSError):
            for line in stream:
                lines.put(line.rstrip("\n"))
        lines.put("")

    def lines(self, count: int) -> list[str]:
        return [self._out.get(timeout=SECONDS) for _ in range(count)]

    def interrupt(self) -> tuple[int, str, str]:
        """The exit code, and what else was on standard output and standard error."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=SECONDS)
        return code, self._out.get(timeout=SECONDS), self._err.get(timeout=SECONDS)


@contextmanager
def listening(masthead: Masthead, *options: str, terminal: bool = False) -> Iterator[Listening]:
    read, write = pty.openpty() if terminal else os.pipe()
    process = subprocess.Popen(
        [forked_program(), "listen", "--tenant", "acme", *options, *masthead.options],
        env=plain_environment(TERM="xterm-256color", COLUMNS="60"),
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(write)
    try:
        yield Listening(process, os.fdopen(read))
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def publish(masthead: Masthead, tenant_id: str, *titles: str) -> None:
    async def work(parts):
        for title in titles:
            values = {"title": title, "status": "published"}
            await parts.records.create(system(TenantId(tenant_id)), posts, values)

    masthead.inside(work)


def test_prints_new_events_and_stops_on_sigint_without_an_error(masthead: Masthead) -> None:
    tenant_id = masthead.tenant()["tenant_id"]
    publish(masthead, tenant_id, "Before")
    with listening(masthead) as run:
        assert "acme" in run.greeting
        publish(masthead, tenant_id, "One", "Two")
        created, published, *_ = run.lines(4)
        assert "post.created" in created
        assert "post.published" in published
        assert 'title="One"' in published
        assert run.interrupt() == (0, "", "")


def test_a_terminal_gets_colours_and_one_row_per_event(masthead: Masthead) -> None:
    tenant_id = masthead.tenant()["tenant_id"]
    with listening(masthead, terminal=True) as run:
        publish(masthead, tenant_id, "A title that is a good deal longer than the row has room for")
        created, published = run.lines(2)
        assert "\x1b[32mpost.created" in created
        assert len(re.sub(r"\x1b\[[\d;]*m", "", published).rstrip()) <= 60
        assert run.interrupt()[0] == 0


def test_a_site_without_any_events_yet(masthead: Masthead) -> None:
    tenant_id = masthead.tenant()["tenant_id"]
    with listening(masthead, "--json") as run:
        publish(masthead, tenant_id, "One")
        first, second = map(json.loads, run.lines(2))
        assert [first["event"], second["event"]] == ["post.created", "post.published"]
        assert set(first) == {"id", "event", "created", "data"}
        assert first["data"]["title"] == "One"
        assert run.interrupt()[0] == 0


def test_since_prints_older_events_across_pages_without_a_gap(masthead: Masthead) -> None:
    tenant_id = masthead.tenant()["tenant_id"]
    titles = [f"Post {number}" for number in range(120)]
    publish(masthead, tenant_id, *titles)
    options = ("--json", "--since", "2020-01-01", "--event", "post.published")
    with listening(masthead, *options) as run:
        publish(masthead, tenant_id, "Now")
        found = [json.loads(line)["data"]["title"] for line in run.lines(121)]
    assert found == [*titles, "Now"]


def test_event_text_has_no_control_characters(masthead: Masthead) -> None:
    tenant_id = masthead.tenant()["tenant_id"]
    with listening(masthead, "--event", "comment.posted") as run:

        async def work(parts):
            caller = system(TenantId(tenant_id))
            post = await parts.records.create(caller, posts, {"title": "One"})
            words = {"post_id": post["id"], "author_name": "A", "body": "\x9b2J\u202eow\x07"}
            await parts.records.create(caller, comments, words)

        masthead.inside(work)
        (line,) = run.lines(1)
        assert line.isprintable()
        assert "2J" in line


def test_wrong_usage(masthead: Masthead) -> None:
    for wrong, sentence in (
        (("--event", "post.publish"), "did you mean post.published?"),
        (("--since", "soon"), "is not a date"),
    ):
        outcome = masthead("listen", "--tenant", "acme", *wrong)
        assert (outcome.code, outcome.out) == (2, "")
        assert sentence in outcome.err
    assert masthead("listen", "--tenant", "nobody").code == 1
