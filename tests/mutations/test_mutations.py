"""The table of modules and the explained mutants still fit the code, so that `make mutations`
can't rot unseen."""

from __future__ import annotations

import pytest
from tests.mutations.__main__ import Change, result_of, table
from tests.mutations.explained import EXPLAINED, Explained
from tests.mutations.modules import MODULES, ROOT, Module

MODULE = Module("a module", ("a.py",), ())
KNOWN = Explained("a.py", "a + 0", ("a - 0",), "The same.")
EQUAL: Change = ("src/masthead/a.py", "a + 0", "a - 0")
OTHER: Change = ("src/masthead/a.py", "a + 1", "a - 1")


@pytest.mark.parametrize("module", MODULES, ids=lambda each: each.name)
def test_the_files_of_a_module_and_its_tests_exist(module: Module) -> None:
    assert all((ROOT / each).is_file() for each in [*module.sources, *module.selection])


def test_what_is_explained_is_a_line_of_a_module() -> None:
    files = {file for module in MODULES for file in module.files}
    for each in EXPLAINED:
        assert each.file in files
        lines = (ROOT / "src/masthead" / each.file).read_text().splitlines()
        assert each.old in map(str.strip, lines)
        assert each.because
        assert each.old not in each.new


@pytest.mark.parametrize(
    ("mutants", "survived", "killed", "score", "is_good"),
    [
        (20, [EQUAL], 19, 100, True),
        (21, [EQUAL, OTHER, OTHER], 18, 90, True),
        (20, [EQUAL, OTHER, OTHER], 17, 89.5, False),
        (11, [EQUAL, EQUAL], 9, 90, True),
        (20, [OTHER], 19, 95, False),  # what is explained was killed
        (0, [], 0, 0, False),
    ],
    ids=["all", "90 %", "less", "twice", "stale", "none"],
)
def test_the_score_is_of_the_mutants_that_are_not_explained(
    mutants: int, survived: list[Change], killed: int, score: float, is_good: bool
) -> None:
    result = result_of(MODULE, mutants, survived, (KNOWN,))
    assert result.killed == killed
    assert result.score == pytest.approx(score, abs=0.05)
    assert result.is_good is is_good


def test_the_table_ends_with_the_sum() -> None:
    result = result_of(MODULE, 11, [EQUAL, OTHER], (KNOWN,))
    assert table([result, result]).splitlines()[2:] == [
        "| a module | 11 | 9 | 1 | 90.0 % |",
        "| a module | 11 | 9 | 1 | 90.0 % |",
        "| all | 22 | 18 | 2 | 90.0 % |",
    ]
