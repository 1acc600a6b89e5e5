"""`python -m tests.mutations`: changes the code of modules, one expression after another, and runs
the tests near each module against every change.

mutmut makes and runs the mutants, in a copy of the tree. A mutant is killed if a test fails.
Any other end of its run, a timeout too, counts as survival. Exits with 1 if a score is too low, or
an explained mutant is killed or no longer made. The table is in `build/mutations.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.mutations.explained import EXPLAINED, Explained
from tests.mutations.modules import MODULES, ROOT, Module
from tests.planted.__main__ import copy_tree

LOWEST_SCORE = 90
TABLE = ROOT / "build" / "mutations.md"
KILLED = (1, 3)
"""Exit codes of pytest: a test has failed, or the mutant has broken pytest itself."""
_SPARE_SECONDS, _TIMES = 10.0, 4.0
"""mutmut ends a mutant that takes so many times as long as its tests and these: one without an end
after a minute or two, and none because the machine is busy."""
_MOST_MEMORY = 4 << 30
"""Bytes of address space of a process."""
_COLUMNS = ("module", "mutants", "killed", "explained", "score")

Change = tuple[str, str, str]
"""A file, its lines that a mutant replaces, and those in their place."""


@dataclass(frozen=True)
class Result:
    module: str
    mutants: int
    killed: int
    survived: list[Change]
    """Without those that are explained."""
    explained: int
    stale: list[Explained]

    @property
    def score(self) -> float:
        """The share of the mutants that a test could find, in percent."""
        return 100 * self.killed / max(1, self.mutants - self.explained)

    @property
    def is_good(self) -> bool:
        return self.mutants > 0 and self.score >= LOWEST_SCORE and not self.stale


def main() -> int:
    options = _options()
    # Some mutants fill a list without end. The limit holds for all processes that are started.
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    results = []
    for module in MODULES:
        if options.only in module.name:
            results.append(_result(module, options.processes))
            _say(_report(results[-1]))
    _say(table(results))
    if not options.only:
        TABLE.parent.mkdir(exist_ok=True)
        TABLE.write_text(table(results))
    return 0 if results and all(each.is_good for each in results) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.mutations", description=__doc__)
    parser.add_argument("--only", default="", help="modules with this in their name")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


def _result(module: Module, processes: int) -> Result:
    with tempfile.TemporaryDirectory(prefix="mutations-") as name:
        tree = Path(name)
        copy_tree(tree)
        with (tree / "pyproject.toml").open("a") as file:
            file.write(_settings(module))
        _mutmut(tree, "run", "--max-children", str(processes))
        ended: dict[str, int] = {}
        survived: list[Change] = []
        for source in module.sources:
            meta = json.loads((tree / "mutants" / f"{source}.meta").read_text())
            codes = meta["exit_code_by_key"]
            ended |= codes
            for mutant in (each for each, code in codes.items() if code not in KILLED):
                survived.append((source, *_lines(_mutmut(tree, "show", mutant))))
    return result_of(module, len(ended), survived, EXPLAINED)


def _settings(module: Module) -> str:
    # In JSON, lists and strings are what they are in TOML.
    settings = {
        "source_paths": ["src"],
        "only_mutate": module.sources,
        "also_copy": ["docs", "operations", "release", "README.md"],
        "pytest_add_cli_args": ["-n", "0", "-p", "no:cacheprovider", "-k", "not postgresql"],
        "pytest_add_cli_args_test_selection": module.selection,
        "timeout_constant": _SPARE_SECONDS,
        "timeout_multiplier": _TIMES,
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    return "\n".join(["", "[tool.mutmut]", *lines, ""])


def _mutmut(tree: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "mutmut", *arguments],
        cwd=tree,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        _say(done.stdout)
        raise SystemExit(f"mutmut has ended with {done.returncode}.")
    return done.stdout


def _lines(diff: str) -> tuple[str, str]:
    """The lines that a diff takes and those that it gives, without its head and indentation."""
    lines = [each for each in diff.splitlines() if not each.startswith(("---", "+++"))]
    old, new = (
        "\n".join(each[1:].strip() for each in lines if each.startswith(sign)) for sign in "-+"
    )
    return old, new


def result_of(
    module: Module, mutants: int, survived: list[Change], known: tuple[Explained, ...]
) -> Result:
    """An explanation is for one mutant: the same line may be in a file twice, and one of them may
    be killed."""
    explained = {
        (f"src/masthead/{each.file}", each.old, new): each for each in known for new in each.new
    }
    unexplained = list((Counter(survived) - Counter(explained.keys())).elements())
    stale = [
        each
        for change, each in explained.items()
        if change[0] in module.sources and change not in survived
    ]
    return Result(
        module.name,
        mutants,
        mutants - len(survived),
        unexplained,
        len(survived) - len(unexplained),
        list(dict.fromkeys(stale)),
    )


def _report(result: Result) -> str:
    lines = [f"{result.module}: {result.score:.1f} %"]
    for file, old, new in result.survived:
        lines += [f"  survived in {file}:", f"    - {old}", f"    + {new}"]
    lines += [f"  explained, but killed or gone: {each}" for each in result.stale]
    return "\n".join(lines)


def table(results: list[Result]) -> str:
    total = Result(
        "all",
        sum(each.mutants for each in results),
        sum(each.killed for each in results),
        [],
        sum(each.explained for each in results),
        [],
    )
    lines = [f"| {' | '.join(_COLUMNS)} |", f"|{'---|' * len(_COLUMNS)}"]
    for each in [*results, total]:
        numbers = f"{each.mutants:,} | {each.killed:,} | {each.explained:,}"
        lines.append(f"| {each.module} | {numbers} | {each.score:.1f} % |")
    return "\n".join([*lines, ""])


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
