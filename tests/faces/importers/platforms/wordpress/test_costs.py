"""Memory that imports of exports take, measured in separate processes: it does not grow with the
file, and has a limit for hostile ones."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.faces.importers.platforms.wordpress.wxr import HEAD, TAIL, attachment, item, wxr
from tests.tiers import representatives

READER = """
import json, resource, sys
from pathlib import Path
from masthead.faces.importers.source import BadFile, Options
from masthead.faces.importers.platforms.wordpress.source import open_wordpress

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

before, count, refusal = peak(), 0, ""
try:
    source = open_wordpress(Path(sys.argv[1]), Options())
    for post in source.posts():
        count += 1
except BadFile as error:
    refusal = str(error)
print(json.dumps({"grown": peak() - before, "count": count, "refusal": refusal}))
"""


def cost_of(path: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", READER, str(path)], capture_output=True, check=True, timeout=300
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def written(path: Path, pieces: Iterable[str]) -> Path:
    with path.open("w", encoding="utf-8") as file:
        file.write(HEAD.format(version="1.2"))
        file.writelines(pieces)
        file.write(TAIL)
    return path


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    text = ("A line of text. " * 40 + "\n\n") * 10
    small = written(tmp_path / "small.xml", (item(text, post_id=n) for n in range(50)))
    large = written(tmp_path / "large.xml", (item(text, post_id=n) for n in range(1500)))
    few, many = cost_of(small), cost_of(large)
    assert (few["count"], many["count"]) == (50, 1500)
    assert many["grown"] < few["grown"] + 15, "of 10 MB of text"


HOSTILE: dict[str, Callable[[], Iterable[str]]] = {
    "one endless text": lambda: ("<item><x>", *["text " * 10_000] * 400, "</x></item>"),
    "one endless post": lambda: (
        "<item><content:encoded><![CDATA[",
        *["text " * 10_000] * 400,
        "]]></content:encoded></item>",
    ),
    "one item of many comments": lambda: (
        "<item>",
        *["<wp:comment><wp:comment_content>x</wp:comment_content></wp:comment>"] * 50_000,
        "</item>",
    ),
    "many media": lambda: (
        attachment(n, f"https://a.example/{n}/" + "x" * 1900, alt="é" * 300, caption="é" * 300)
        for n in range(3_000)
    ),
    "many categories": lambda: ("<item>", *["<category>x</category>"] * 50_000, "</item>"),
    "many names": lambda: (f"<a{n}/>" for n in range(50_000)),
    "an endless tag": lambda: ("<a ", *["b" * 100_000] * 100, "/>"),
    "an endless comment": lambda: ("<!--", *["b" * 100_000] * 100, "-->"),
    "deep": lambda: ("<a>" * 200_000,),
}


@pytest.mark.parametrize("name", representatives(HOSTILE))
def test_a_hostile_file_stays_within_bounds(tmp_path: Path, name: str) -> None:
    cost = cost_of(written(tmp_path / "a.xml", HOSTILE[name]()))
    assert cost["grown"] < 60


def test_a_bomb_in_a_gz_is_refused_soon(tmp_path: Path) -> None:
    path = tmp_path / "a.xml.gz"
    with gzip.open(path, "wb") as file:
        file.write(wxr(item()).removesuffix(TAIL).encode())
        for _ in range(60):
            file.write(b" " * 1_000_000)
    cost = cost_of(path)
    assert "far more" in cost["refusal"]
    assert cost["grown"] < 60
