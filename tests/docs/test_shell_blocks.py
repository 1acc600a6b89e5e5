"""Every shell block of the README and the docs works as it is pasted, against a running demo."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.features.media.pictures import picture
from tests.forking import forked_program
from tests.service.cli.commands import COMMAND, plain_environment
from tests.service.cli.running import Running, serving

# One demo for the file.
pytestmark = [pytest.mark.sweep, pytest.mark.xdist_group("demo")]

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^```(console|sh|bash)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

NOT_RUN = {
    "make run": "installs everything and serves on port 8000; the demo of this test is that server",
    "make test": "runs every test, this one included",
    "make soak": "takes an hour; tests/soak runs a minute of it",
    "make fuzz": "takes twenty minutes; tests/fuzz tries every target",
    "make mutations": "runs some thousand tests; tests/mutations tests how it counts",
    "make dist": "builds a release; tests/install does, and installs it in a bare folder",
    "/opt/masthead": "writes outside the folder of the test; tests/install does the same in one",
    "uv tool install": "tests/install runs it",
    "docker": "needs a daemon; tests/install runs the steps of the Dockerfile",
    "sudo ": "needs root and systemd; tests/install and tests/service/cli/test_init.py check files",
    "litestream ": "needs a bucket; tests/service/backup/test_litestream.py runs it",
    "masthead listen": "runs until Ctrl-C; tests/service/cli/test_listen.py runs it",
    "/api/realtime": "a stream without an end; tests/faces/record_api reads such streams",
    "make cluster": "installs packages and runs until Ctrl-C; tests/cluster runs it",
}
"""Blocks with these words are left out, for the reason given."""

SUBSTITUTED = {
    "https://hooks.example.com/masthead": "https://127.0.0.1:1/masthead",
}
"""Addresses of others: a webhook's is looked up when it is set, and tests have no network."""


@dataclass(frozen=True)
class Demo:
    running: Running
    folder: Path
    password: str
    key: str


def blocks(page: Path) -> list[str]:
    found = _BLOCK.findall(page.read_text())
    return [commands_of(body) if kind == "console" else body for kind, body in found]


def commands_of(session: str) -> str:
    """Returns what was typed in a console: lines after `$ `, each with those that continue it."""
    typed, goes_on = [], False
    for line in session.splitlines():
        if goes_on or line.startswith("$ "):
            typed.append(line if goes_on else line[2:])
            goes_on = line.endswith("\\")
    return "\n".join(typed)


def is_run(block: str) -> bool:
    return not any(words in block for words in NOT_RUN)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    folder = tmp_path_factory.mktemp("docs")
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / ".venv" / "bin" / "masthead").symlink_to(forked_program())
    prepare_files(folder)
    allowed = {"MASTHEAD_OUTBOUND_ALLOW": "127.0.0.0/8"}
    with serving(folder / "data", "--demo", **allowed) as running:
        lines = [running.line() for _ in range(3)]
        password = lines[1].rpartition("password: ")[2]
        yield Demo(running, folder, password, lines[2].removeprefix("api key: "))


def prepare_files(folder: Path) -> None:
    """Writes the files that the pages take for granted in the reader's folder."""
    (folder / "harbour.jpg").write_bytes(picture("JPEG"))
    post = {"id": "1", "title": "Old", "slug": "old", "html": "<p>Old.</p>", "status": "published"}
    export = {"db": [{"meta": {"version": "5.0.0"}, "data": {"posts": [post]}}]}
    with zipfile.ZipFile(folder / "export.zip", "w") as archive:
        archive.writestr("export.json", json.dumps(export))
    (folder / "export.xml").write_text(
        '<rss version="2.0" xmlns:wp="http://wordpress.org/export/1.2/"><channel>'
        "<title>Old</title><link>https://old.example</link><wp:wxr_version>1.2</wp:wxr_version>"
        "</channel></rss>"
    )
    error = {"kind": "image", "source_id": "1", "url": "https://old.example/a.png", "reason": "x"}
    (folder / "import-errors.json").write_text(json.dumps([error]))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_shell_blocks_of_a_page_work_when_pasted(page: Path, demo: Demo) -> None:
    run = [block for block in blocks(page) if is_run(block)]
    if not run:
        return
    if shutil.which("curl") is None:
        pytest.skip("curl is missing: install curl, as the examples are written with it")
    # One after the other in one shell, as a reader pastes them: a key is set once.
    script = "\n".join(["set -eo pipefail", *run])
    script = script.replace("127.0.0.1:8000", f"127.0.0.1:{demo.running.port}")
    script = script.replace("mh_live_…", demo.key).replace(
        "PASSWORD=…", f"PASSWORD={demo.password}"
    )
    for address, own in SUBSTITUTED.items():
        script = script.replace(address, own)
    done = subprocess.run(
        ["bash", "-xc", _STRICT_CURL + script],
        stdin=subprocess.DEVNULL,
        cwd=demo.folder,
        env=plain_environment(PATH=f"{demo.folder}/.venv/bin:{COMMAND.parent}:/usr/bin:/bin"),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-1000:]


_STRICT_CURL = 'curl() { command curl --fail-with-body -sS "$@"; }\n'
"""Without it curl is content with an answer that refuses."""


def test_a_console_is_read_as_what_was_typed() -> None:
    session = "$ masthead a \\\n    --b\nan answer\n$ masthead c\nmore\n"
    assert commands_of(session) == "masthead a \\\n    --b\nmasthead c"


def test_nothing_is_left_out_without_need() -> None:
    every = [block for page in PAGES for block in blocks(page)]
    assert all(any(words in block for block in every) for words in NOT_RUN)
    assert sum(is_run(block) for block in every) >= 15


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_example_needs_a_resolver_that_knows_localhost_names(page: Path) -> None:
    assert [block for block in blocks(page) if "//demo.localhost" in block] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_example_sets_a_variable_that_is_no_setting(page: Path) -> None:
    from masthead.base.config.settings import VARIABLES

    named = {each for block in blocks(page) for each in re.findall(r"\bMASTHEAD_[A-Z_]+", block)}
    assert named <= {each.name for each in VARIABLES}
